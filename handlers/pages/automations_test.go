package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func (s *testSite) automationForm() url.Values {
	return url.Values{"title": {"Triage"}, "message": {"say hello"}, "dir": {s.t.TempDir()}, "agent": {"script"},
		"when": {"daily"},
		"time": {"06:00"}, "zone": {"Europe/Berlin"}, "enabled": {"yes"}, "catchup": {"yes"}}
}

// Plain forms create, run, change, disable and delete an automation.
func TestAutomationByForms(t *testing.T) {
	s := open(t)
	if list := s.get("/automations"); !strings.Contains(list, "No automations yet") {
		t.Errorf("the empty page says\n%s", list)
	}
	at := s.post("/automations", s.automationForm())
	if page := s.get(at); !strings.Contains(page, "Every day at 06:00 (Europe/Berlin)") ||
		!strings.Contains(page, "No runs yet") {
		t.Errorf("the new automation is\n%s", page)
	}
	for range 2 { // sending the form twice starts one run
		if back := s.post(at+"/run", url.Values{"request": {"first"}}); back != at {
			t.Errorf("running leads to %s", back)
		}
	}
	if page := s.until(at, "Done"); strings.Count(page, `class="arun"`) != 1 || !strings.Contains(page, "manual") {
		t.Errorf("a form sent twice made\n%s", page)
	}
	form := s.automationForm()
	form.Set("when", "monthly")
	form.Set("day", "31")
	form.Set("stopruns", "5")
	form.Set("stopdate", "2031-05-01")
	form.Del("catchup")
	s.post(at, form)
	page := s.get(at)
	for _, want := range []string{"Every month on the 31st at 06:00", "after 5 scheduled runs (0 so far)",
		"on 1 May 2031"} {
		if !strings.Contains(page, want) {
			t.Errorf("after the change the page does not say %q", want)
		}
	}
	edit := s.get(at + "/edit")
	for _, want := range []string{`value="monthly" checked`, `value="31"`, `value="5"`, `value="2031-05-01"`,
		`value="06:00"`} {
		if !strings.Contains(edit, want) {
			t.Errorf("the form does not show %s", want)
		}
	}
	s.post(at+"/enabled", url.Values{"enabled": {"no"}})
	if page := s.get(at); !strings.Contains(page, ">Enable<") || strings.Contains(page, "Next run") {
		t.Error("it is not switched off")
	}
	if to := s.post(at+"/remove", nil); to != "/automations" {
		t.Errorf("deleting leads to %s", to)
	}
	s.body(at, get(t, s, at), nil, http.StatusNotFound)
}

func get(t *testing.T, s *testSite, path string) *http.Response {
	t.Helper()
	res, err := s.web.Get(s.url + path)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Errors of a form are shown at their fields, and the entered values stay.
func TestAutomationFormProblems(t *testing.T) {
	s := open(t)
	for field, c := range map[string]struct {
		name, value, says string
	}{
		"title":      {"title", " ", "needs a title"},
		"message":    {"message", " ", "message is empty"},
		"dir":        {"dir", "somewhere", "absolute path"},
		"agent":      {"agent", "nobody", "no agent"},
		"schedule":   {"time", "25:00", "time of day"},
		"conditions": {"stopruns", "-1", "above 0"},
	} {
		form := s.automationForm()
		form.Set(c.name, c.value)
		res, err := s.web.PostForm(s.url+"/automations", form)
		body := s.body("/automations", res, err, http.StatusBadRequest)
		_, after, found := strings.Cut(body, `id="problem-`+field+`"`)
		if !found || !strings.Contains(strings.ToLower(after[:min(300, len(after))]), c.says) {
			t.Errorf("%s: the page does not say %q at its field", field, c.says)
		}
		if c.name != "title" && !strings.Contains(body, `value="Triage"`) {
			t.Errorf("%s: what was typed is gone", field)
		}
	}
	form := s.automationForm()
	form.Set("dir", "/nowhere/at/all")
	res, err := s.web.PostForm(s.url+"/automations", form)
	if body := s.body("/automations", res, err, http.StatusBadRequest); !strings.Contains(body, `id="problem-dir"`) {
		t.Error("a directory that is not there is no problem")
	}
	if list := s.get("/automations"); !strings.Contains(list, "No automations yet") {
		t.Error("something was saved all the same")
	}
}

// Open pages show changes by others: creation, runs and removal.
func TestAutomationPageIsLive(t *testing.T) {
	s := open(t)
	list := s.tab("/automations")
	at := s.post("/automations", s.automationForm())
	list.wait("automations", "Triage")
	one := s.tab(at)
	s.post(at+"/run", url.Values{"request": {"first"}})
	one.wait("automation", "Done")
	list.wait("automations", "Done")
	s.post(at+"/remove", nil)
	one.wait("automation", "was deleted")
	list.wait("automations", "No automations yet")
}

// The form leaves parts of a client's automation alone that it cannot show.
func TestAutomationOfAClientKeepsItsParts(t *testing.T) {
	s := open(t)
	uri := ahp.URI("ahp-automation:/theirs")
	trigger := func(id, expression string) ahp.AutomationTrigger {
		return ahp.AutomationTrigger{Value: &ahp.AutomationScheduleTrigger{ID: id,
			Schedule: ahp.AutomationSchedule{Expression: expression, TimeZone: "UTC"}}}
	}
	d := ahp.AutomationDefinition{Title: "Theirs", Enabled: true, Meta: ahp.Meta{"their/key": []byte(`1`)},
		Message: ahp.Message{Text: "say x", Model: &ahp.ModelSelection{ID: "big"},
			Origin: ahp.MessageOrigin{Kind: ahp.MessageKindAutomation}},
		Triggers: []ahp.AutomationTrigger{trigger("a", "0 9 * * *"), trigger("b", "0 17 * * FRI")}}
	c := core.Caller{Principal: ana}
	if o, err := s.host.Dispatch(t.Context(), c, ahp.AutomationsURI, 0,
		&ahp.AutomationCreateRequestedAction{Resource: uri, Definition: d}); err != nil || o.Rejected != "" {
		t.Fatal(err, o.Rejected)
	}
	at := "/automations/" + core.ShortID(uri)
	if edit := s.get(at + "/edit"); !strings.Contains(edit, "created by a client") ||
		!strings.Contains(edit, "Every Friday at 17:00") {
		t.Error("the form does not show both schedules")
	}
	form := s.automationForm()
	form.Set("title", "Mine")
	s.post(at, form)
	e, _ := s.host.Automations.Get(uri)
	if got := e.Definition; got.Title != "Mine" || len(got.Triggers) != 2 || got.Meta["their/key"] == nil ||
		got.Message.Model == nil || got.Message.Text != "say hello" {
		t.Errorf("after the form it is %+v", got)
	}
}

func TestGuestsSeeNoAutomations(t *testing.T) {
	s := open(t)
	at := s.post("/automations", s.automationForm())
	s.post(at+"/run", url.Values{"request": {"first"}})
	s.until(at, "Done")
	made, _ := s.host.Automations.Get(s.host.Automations.List(core.Caller{Principal: ana})[0].Resource)
	s.who = access.Principal{ID: "guest:1", Name: "Ben", Role: access.RoleDriver, Session: made.Runs[0].PrimarySession,
		Link: "l", Prompt: true, Approve: true, Type: true}
	for _, room := range []string{"automations~x~0", "automation:" + strings.TrimPrefix(at, "/automations/") + "~x~0"} {
		s.body("/live", get(t, s, "/live?f="+room), nil, http.StatusNotFound)
	}
	s.body(at, get(t, s, at), nil, http.StatusNotFound)
}
