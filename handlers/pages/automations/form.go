package automations

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// ShowNew serves GET /automations/new.
func (p *Pages) ShowNew(w http.ResponseWriter, r *http.Request) error {
	return p.sendForm(w, r, http.StatusOK, nil, r.URL.Query(), nil)
}

// ShowEdit serves GET /automations/{automation}/edit.
func (p *Pages) ShowEdit(w http.ResponseWriter, r *http.Request) error {
	e, err := p.automationOf(r)
	if err != nil {
		return err
	}
	return p.sendForm(w, r, http.StatusOK, &e, r.URL.Query(), nil)
}

// sendForm renders the form with the values of an automation, or with the values entered so far.
func (p *Pages) sendForm(w http.ResponseWriter, r *http.Request, status int, e *ahp.AutomationEntry, chosen url.Values,
	problems map[string]string) error {
	c := p.CallerOf(r.Context())
	m := page.AutomationForm{Action: "/automations", Back: "/automations", New: true, Enabled: true, Agents: p.Agents(),
		Schedule: freshSchedule(),
		Recent:   p.RecentDirs(p.Host.Summaries(c)), Problems: problems}
	m.Dir, m.Agent = site.FirstOf(append(slices.Clone(m.Recent), p.DefaultDir)), firstProvider(m.Agents)
	config, title := ahp.Meta(nil), "New automation"
	if e != nil {
		m.New, m.Action, m.Back, title = false, automationPath(e.Resource), automationPath(e.Resource), "Edit "+
			e.Definition.Title
		config = e.Definition.Session.Config
		fillForm(&m, e.Definition)
	}
	if chosen.Has("title") || chosen.Has("message") {
		config = nil
		choose(&m, chosen)
	}
	if res, err := p.Host.ResolveSessionConfig(c, ahp.ResolveSessionConfigParams{Channel: ahp.RootURI,
		Provider: m.Agent}); err == nil {
		if config == nil {
			config = site.ConfigOf(chosen, res.Schema)
		}
		m.Config = part.SettingsOf(res.Schema, config, false, host.Unasked)
	}
	if len(m.Schedule.Kept) == 0 && (m.Schedule.Zone != "" || chosen.Has("when")) {
		m.Schedule.Preview = p.preview(c, m.Schedule)
	}
	m.Frame = p.Frame(r, title, "automations")
	dressAutomations(&m.Frame.Styles, &m.Frame.Scripts)
	return site.Send(w, status, page.AutomationFormPage(m))
}

func firstProvider(list []ahp.AgentInfo) string {
	if len(list) == 0 {
		return ""
	}
	return list[0].Provider
}

// fillForm fills the form with a definition.
func fillForm(m *page.AutomationForm, d ahp.AutomationDefinition) {
	m.Title, m.Message, m.Enabled = d.Title, d.Message.Text, d.Enabled
	if d.Session.Provider != "" {
		m.Agent = d.Session.Provider
	}
	if len(d.Session.WorkingDirectories) > 0 {
		m.Dir, _ = core.FilePath(d.Session.WorkingDirectories[0])
	}
	switch one := oneSchedule(d); {
	case one != nil:
		m.Schedule = fieldsOf(one)
	case len(d.Triggers) == 0:
		m.Schedule.When = "manual"
	default:
		for _, t := range d.Triggers {
			words, _ := triggerWords(t)
			m.Schedule.Kept = append(m.Schedule.Kept, words)
		}
	}
	m.StopRuns, m.StopDate = stops(d)
}

// oneSchedule returns the schedule of an automation whose only trigger is a schedule, as the form creates them.
func oneSchedule(d ahp.AutomationDefinition) *ahp.AutomationScheduleTrigger {
	if len(d.Triggers) != 1 {
		return nil
	}
	t, _ := d.Triggers[0].Value.(*ahp.AutomationScheduleTrigger)
	return t
}

// stops returns a definition's disable conditions as the form shows them: a number of runs, and the last day.
func stops(d ahp.AutomationDefinition) (runs, date string) {
	if most := automation.AfterRuns(d); most > 0 {
		runs = strconv.FormatInt(most, 10)
	}
	if end := automation.AfterDate(d); !end.IsZero() {
		date = end.Add(-time.Second).In(zoneOf(d)).Format(time.DateOnly)
	}
	return runs, date
}

// choose fills the form with submitted values.
func choose(m *page.AutomationForm, chosen url.Values) {
	m.Title, m.Message, m.Dir, m.Agent = chosen.Get("title"), chosen.Get("message"), chosen.Get("dir"),
		chosen.Get("agent")
	m.StopRuns, m.StopDate, m.Enabled = chosen.Get("stopruns"), chosen.Get("stopdate"), chosen.Get("enabled") == "yes"
	if len(m.Schedule.Kept) == 0 {
		m.Schedule = scheduleOf(chosen)
	}
}

// Create serves POST /automations. If fields are invalid, it sends the form again, with an error at each field.
func (p *Pages) Create(w http.ResponseWriter, r *http.Request) error {
	return p.keepAutomation(w, r, nil, "ahp-automation:/"+ids.New())
}

// Save serves POST /automations/{automation}.
func (p *Pages) Save(w http.ResponseWriter, r *http.Request) error {
	e, err := p.automationOf(r)
	if err != nil {
		return err
	}
	return p.keepAutomation(w, r, &e, e.Resource)
}

func (p *Pages) keepAutomation(w http.ResponseWriter, r *http.Request, e *ahp.AutomationEntry, uri ahp.URI) error {
	r.Body = http.MaxBytesReader(w, r.Body, site.MaxForm)
	if err := r.ParseForm(); err != nil {
		return site.BadRequest("This form can't be read. Reload the page and try again.")
	}
	c := p.CallerOf(r.Context())
	var before ahp.AutomationDefinition
	if e != nil {
		before = e.Definition
	}
	d, problems := p.definition(r.Context(), c, before, r.PostForm)
	if len(problems) == 0 {
		var a ahp.Action = &ahp.AutomationCreateRequestedAction{Resource: uri, Definition: d}
		if e != nil {
			a = &ahp.AutomationUpdateRequestedAction{Resource: uri, Changes: patchOf(d)}
		}
		if err := p.Act(r.Context(), ahp.AutomationsURI, a); err != nil {
			f := site.Classify(err)
			if f.Status != http.StatusConflict {
				return err
			}
			problems = map[string]string{"form": f.Text}
		}
	}
	if len(problems) > 0 {
		return p.sendForm(w, r, http.StatusBadRequest, e, r.PostForm, problems)
	}
	http.Redirect(w, r, automationPath(uri), http.StatusSeeOther)
	return nil
}

// patchOf returns a patch that replaces everything that the form shows.
func patchOf(d ahp.AutomationDefinition) ahp.AutomationDefinitionPatch {
	if d.DisableConditions == nil {
		d.DisableConditions = []ahp.AutomationDisableCondition{}
	}
	return ahp.AutomationDefinitionPatch{Title: &d.Title, Message: &d.Message, Session: &d.Session, Enabled: &d.Enabled,
		Triggers: d.Triggers, DisableConditions: d.DisableConditions}
}

// definition applies the form to a definition; fields that are not in the form stay. Problems are by field.
func (p *Pages) definition(ctx context.Context, c core.Caller, before ahp.AutomationDefinition,
	form url.Values) (ahp.AutomationDefinition, map[string]string) {
	d, problems := before, map[string]string{}
	d.Title, d.Enabled = form.Get("title"), form.Get("enabled") == "yes"
	d.Message.Text = strings.TrimSpace(strings.ReplaceAll(form.Get("message"), "\r\n", "\n"))
	d.Message.Origin.Kind = ahp.MessageKindAutomation
	p.template(ctx, c, &d.Session, form, problems)
	if err := schedules(&d, scheduleOf(form)); err != nil {
		problems["schedule"] = site.Sentence(err.Error())
	}
	if err := conditions(&d, before, form); err != "" {
		problems["conditions"] = err
	}
	err := automation.Check(&d, automation.Limits{Interval: p.shortest(c)})
	if wrong, ok := automation.AsProblem(err); ok && problems[wrong.Field] == "" {
		problems[wrong.Field] = site.Sentence(wrong.Text)
	}
	return d, problems
}

// template reads the agent, directory and settings of the automation's sessions.
func (p *Pages) template(ctx context.Context, c core.Caller, t *ahp.AutomationSessionTemplate, form url.Values,
	problems map[string]string) {
	agent, dir := form.Get("agent"), strings.TrimSpace(form.Get("dir"))
	if agent != t.Provider {
		*t = ahp.AutomationSessionTemplate{Provider: agent, WorkingDirectories: t.WorkingDirectories}
	}
	if !strings.HasPrefix(dir, "/") {
		problems["dir"] = "Enter the working directory as an absolute path, like /home/ana/project."
		return
	}
	t.WorkingDirectories = append([]ahp.URI{site.FileURI(dir)},
		t.WorkingDirectories[min(1, len(t.WorkingDirectories)):]...)
	res, err := p.Host.ResolveSessionConfig(c, ahp.ResolveSessionConfigParams{Channel: ahp.RootURI, Provider: agent})
	if err != nil {
		problems["agent"] = site.Classify(err).Text
		return
	}
	config := ahp.Meta{}
	for key, v := range t.Config {
		config[key] = v
	}
	for key, v := range site.ConfigOf(form, res.Schema) {
		config[key] = v
	}
	t.Config = config
	if err := p.Host.CheckTemplate(ctx, *t); err != nil {
		field, text, found := strings.Cut(site.Classify(err).Text, ": ")
		switch strings.ToLower(field) {
		case "workingdirectories":
			problems["dir"] = site.Sentence(text)
		case "config", "model":
			problems["config"] = site.Sentence(text)
		default:
			if !found {
				text = field
			}
			problems["agent"] = site.Sentence(text)
		}
	}
}

// schedules applies the form's schedule to a definition; several triggers, created elsewhere, stay.
func schedules(d *ahp.AutomationDefinition, s page.ScheduleFields) error {
	one := oneSchedule(*d)
	if one == nil && len(d.Triggers) > 0 {
		return nil
	}
	text, err := expression(s)
	if err != nil {
		return err
	}
	if text == "" {
		d.Triggers = []ahp.AutomationTrigger{}
		return nil
	}
	t := &ahp.AutomationScheduleTrigger{ID: "clock", Schedule: ahp.AutomationSchedule{Expression: text,
		TimeZone: s.Zone}}
	if one != nil {
		t.ID = one.ID
	}
	if !s.CatchUp {
		t.MisfirePolicy = ahp.AutomationMisfirePolicySkip
	}
	if _, err := automation.Parse(t.Schedule); err != nil {
		return err
	}
	d.Triggers = []ahp.AutomationTrigger{{Value: t}}
	return nil
}

// conditions reads when the automation disables itself. A date means the end of that day in the
// schedule's time zone; an unchanged date keeps its exact time.
func conditions(d *ahp.AutomationDefinition, before ahp.AutomationDefinition, form url.Values) string {
	runs, date := strings.TrimSpace(form.Get("stopruns")), strings.TrimSpace(form.Get("stopdate"))
	if hadRuns, hadDate := stops(before); runs == hadRuns && date == hadDate {
		return ""
	}
	d.DisableConditions = nil
	if runs != "" {
		most, err := strconv.ParseInt(runs, 10, 64)
		if err != nil || most < 1 {
			return "Enter a number of runs above 0, or leave it empty."
		}
		d.DisableConditions = append(d.DisableConditions,
			ahp.AutomationDisableCondition{Value: &ahp.AutomationAfterRunsCondition{Max: most}})
	}
	if date != "" {
		day, err := time.ParseInLocation(time.DateOnly, date, zoneOf(*d))
		if err != nil {
			return "Enter a date like 2027-01-31, or leave it empty."
		}
		d.DisableConditions = append(d.DisableConditions, ahp.AutomationDisableCondition{
			Value: &ahp.AutomationAfterDateCondition{Date: day.AddDate(0, 0, 1).UTC().Format(time.RFC3339)}})
	}
	return ""
}
