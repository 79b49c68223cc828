package automations

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/automation"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
)

const automationRunsPage = 30 // ended runs on one page

// List serves GET /automations.
func (p *Pages) List(w http.ResponseWriter, r *http.Request) error {
	who := access.FromContext(r.Context())
	m := page.Automations{Frame: p.Frame(r, "Automations", "automations")}
	rail, err := p.Live.Draw(r.Context(), who, "rail", func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	list, err := p.Live.Draw(r.Context(), who, "automations",
		func(room live.Room, _ live.States) { m.Items = room.(*automationsRoom).items() })
	if err != nil {
		return err
	}
	m.Frame.Live = live.Query(rail, list)
	dressAutomations(&m.Frame.Styles, &m.Frame.Scripts)
	return site.Send(w, http.StatusOK, page.AutomationsPage(m))
}

func dressAutomations(styles, scripts *[]string) {
	*styles = append(*styles, "css/compose.css", "css/inbox.css", "css/automations.css")
	*scripts = append(*scripts, "js/automations.js", "js/options.js")
}

// Show serves GET /automations/{automation}: live with its newest runs, not live with older ones.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	e, err := p.automationOf(r)
	if err != nil {
		return err
	}
	who, short := access.FromContext(r.Context()), core.ShortID(e.Resource)
	m := page.AutomationPageModel{Frame: p.Frame(r, e.Definition.Title, "automations")}
	dressAutomations(&m.Frame.Styles, &m.Frame.Scripts)
	from, _ := strconv.Atoi(r.FormValue("from")) // absent or not a number: from the newest
	if from > 0 {
		m.It = p.drawAutomation(core.Caller{Principal: who}, e, from)
		return site.Send(w, http.StatusOK, page.AutomationPage(m))
	}
	rail, err := p.Live.Draw(r.Context(), who, "rail", func(live.Room, live.States) {})
	if err != nil {
		return err
	}
	mark, err := p.Live.Draw(r.Context(), who, "automation:"+short,
		func(room live.Room, s live.States) { m.It = room.(*automationRoom).draw() })
	if err != nil {
		return err
	}
	m.Frame.Live = live.Query(rail, mark)
	return site.Send(w, http.StatusOK, page.AutomationPage(m))
}

// automationOf finds the automation of a path.
func (p *Pages) automationOf(r *http.Request) (ahp.AutomationEntry, error) {
	if e, ok := p.automationByShort(p.CallerOf(r.Context()), chi.URLParam(r, "automation")); ok {
		return e, nil
	}
	return ahp.AutomationEntry{}, site.NotFound("Automation not found. It may have been deleted.")
}

func (p *Pages) automationByShort(c core.Caller, short string) (ahp.AutomationEntry, bool) {
	for _, e := range p.Automations.List(c) {
		if core.ShortID(e.Resource) == short {
			return e, true
		}
	}
	return ahp.AutomationEntry{}, false
}

func automationPath(uri ahp.URI) string { return "/automations/" + core.ShortID(uri) }

// Enable enables or disables an automation.
func (p *Pages) Enable(w http.ResponseWriter, r *http.Request) error {
	on := r.PostFormValue("enabled") == "yes"
	return p.onAutomation(w, r, func(ctx context.Context, e ahp.AutomationEntry) error {
		return p.Act(ctx, ahp.AutomationsURI, &ahp.AutomationUpdateRequestedAction{Resource: e.Resource,
			Changes: ahp.AutomationDefinitionPatch{Enabled: &on}})
	})
}

// Run starts a run. The form names its run, so that submitting it twice starts only one.
func (p *Pages) Run(w http.ResponseWriter, r *http.Request) error {
	request := r.PostFormValue("request")
	return p.onAutomation(w, r, func(ctx context.Context, e ahp.AutomationEntry) error {
		_, err := p.Automations.Run(ctx, p.CallerOf(ctx), ahp.RunAutomationParams{Channel: ahp.AutomationsURI,
			Automation: e.Resource, RequestID: "page:" + request})
		return err
	})
}

func (p *Pages) onAutomation(w http.ResponseWriter, r *http.Request,
	do func(context.Context, ahp.AutomationEntry) error) error {
	e, err := p.automationOf(r)
	if err == nil {
		err = do(r.Context(), e)
	}
	if err != nil {
		return err
	}
	return site.FinishForm(w, r, automationPath(e.Resource))
}

// Remove removes an automation; its sessions stay.
func (p *Pages) Remove(w http.ResponseWriter, r *http.Request) error {
	e, err := p.automationOf(r)
	if err != nil {
		return err
	}
	if err := p.Act(r.Context(), ahp.AutomationsURI, &ahp.AutomationRemovedAction{Resource: e.Resource}); err != nil {
		return err
	}
	return site.FinishForm(w, r, "/automations")
}

// CancelRun stops a run that has not ended.
func (p *Pages) CancelRun(w http.ResponseWriter, r *http.Request) error {
	return p.onAutomation(w, r, func(ctx context.Context, e ahp.AutomationEntry) error {
		for _, run := range p.Automations.ListRuns(p.CallerOf(ctx), e.Resource) {
			if core.ShortID(run.Resource) == chi.URLParam(r, "run") && !automation.Ended(run.Lifecycle) {
				return p.Act(ctx, run.Resource, &ahp.AutomationRunCancelRequestedAction{})
			}
		}
		return site.Refused("this run has ended, so there is nothing to cancel")
	})
}

// PreviewSchedule serves GET /automations/preview: a description of the schedule in the form's fields.
func (p *Pages) PreviewSchedule(w http.ResponseWriter, r *http.Request) error {
	return site.Send(w, http.StatusOK, page.SchedulePreviewPart(p.preview(p.CallerOf(r.Context()),
		scheduleOf(r.URL.Query()))))
}

func olderRuns(base string, from int) string {
	if from <= 0 {
		return base
	}
	return base + "?" + url.Values{"from": {strconv.Itoa(from)}}.Encode()
}
