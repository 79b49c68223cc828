package e2e

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ahphub/ahphub/hub/ahp"
)

// The owner creates an automation, sees errors next to the fields and its next runs, runs it, finds
// its session with the pending approval, and deletes it.
func TestAutomationsPage(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	p := OpenBrowser(t).Page()
	p.SignIn(prog)
	p.Allow(`status of 400`) // a form shown again with an error
	p.Open(prog.URL + "/")
	p.Click(`#rail a[href="/automations"]`)
	p.Says("main", "No automations yet")
	p.Shot("empty")
	p.Click("#automations a[href='/automations/new']")
	p.Wait(`document.querySelector('#preview time:not([data-when])')`) // its next runs, in the browser's time zone
	if zone := Eval[string](p, `document.querySelector('#when-zone').value`); zone != Eval[string](p,
		`Intl.DateTimeFormat().resolvedOptions().timeZone`) {
		t.Errorf("the time zone offered is %q", zone)
	}

	p.Do(chromedp.SetValue("#title", "Morning look"), chromedp.SetValue("#message", "say good morning"))
	p.Do(chromedp.SetValue("#when-zone", "Europe/Berlin"))
	p.Click("#schedule input[value=cron]")
	p.Fill("#when-cron", "*/2 9 * * *")
	p.Says("#preview", "at least 5 minutes")
	p.Click("#auto-form .btn.main")
	p.Says("[role=alert]", "Not saved")
	p.Says("#problem-schedule", "at least 5 minutes")
	p.Shot("problem")
	p.Click("#schedule input[value=weekly]")
	p.Click("#schedule input[name=days][value='3']")
	p.Do(chromedp.SetValue("#when-time", "07:45"))
	p.Says("#preview", "Every Monday and Wednesday at 07:45 (Europe/Berlin)")
	p.Wait(`document.querySelectorAll('#preview time').length === 3`)
	p.Shot("form")
	p.Click("#auto-form .btn.main")
	p.Wait(`/^\/automations\/[0-9a-f]+$/.test(location.pathname)`)
	p.Live()
	p.Says("#automation", "Every Monday and Wednesday at 07:45 (Europe/Berlin)")
	p.Says("#automation", "No runs yet")

	p.Click("#automation form[action$='/run'] button")
	p.Says("#automation .arun", "Done")
	p.Says("#automation .arun", "manual")
	p.Shot("ran")
	p.Click("#automation .arun a")
	p.Says("#turns", "good morning")
	p.Says("#turns", "(automation)")
	if title := Eval[string](p, `document.querySelector('#title').textContent`); title != "Morning look" {
		t.Errorf("its session is called %q", title)
	}

	p.Open(prog.URL + "/automations")
	p.Live()
	p.Says("#automations", "Morning look")
	p.Says("#automations", "Done")
	p.Follow("#automations .inlink")
	p.Click("#automation a[href$='/edit']")
	p.Wait(`document.querySelector('#schedule input[value=weekly]')?.checked && document.querySelectorAll('#schedule input[name=days]:checked').length === 2`)
	p.Do(chromedp.SetValue("#message", "run touch made-by-an-automation"))
	p.Click("#auto-form .btn.main")
	p.Wait(`/^\/automations\/[0-9a-f]+$/.test(location.pathname)`)
	p.Live()
	p.Click("#automation form[action$='/run'] button")
	p.Says("#automation .arun", "Needs you")
	p.Shot("waits")
	p.Open(prog.URL + "/")
	p.Says("#inbox section", "Needs you")
	p.Says("#inbox section", "touch made-by-an-automation")
	p.Open(prog.URL + "/automations")
	p.Live()
	p.Says("#automations", "Needs you")
	p.Shot("list")
	p.Follow("#automations .inlink")
	p.automationsLook(prog, Eval[string](p, "location.pathname"))
	p.Click("#automation form[action$='/cancel'] button")
	p.Says("#automation .arun", "Cancelled")
	p.Click("#automation form[action$='/enabled'] button")
	p.Says("#automation .auto-top", "Off")
	p.Click("#auto-remove summary")
	p.Click("#auto-remove .btn.bad")
	p.Says("main", "No automations yet")
}

// automationsLook checks every page of automations in dark mode and on a phone.
func (p *Page) automationsLook(prog *Program, one string) {
	p.t.Helper()
	for name, path := range map[string]string{"list": "/automations", "one": one, "edit": one + "/edit"} {
		p.Open(prog.URL + path)
		p.Wait(`document.readyState === 'complete' && !document.querySelector('time[data-when]')`)
		p.look(1440, 900, "dark")
		p.accessible(name+" dark", false)
		p.look(320, 640, "light")
		p.accessible(name+" phone", true)
		p.look(1440, 900, "light")
	}
	p.Open(prog.URL + one)
	p.Live()
}

// The program is killed while a run waits for an approval: after the restart, the run has failed
// with a reason, the schedule is unchanged, and the automation runs again.
func TestAutomationOverAKill(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	w := watch(t, prog, "watcher")
	w.mirror(ahp.AutomationsURI)
	const uri ahp.URI = "ahp-automation:/kill"
	definition := ahp.AutomationDefinition{Title: "Kill", Enabled: true, Message: ahp.Message{Text: "run true",
		Origin: ahp.MessageOrigin{Kind: ahp.MessageKindAutomation}},
		Triggers: []ahp.AutomationTrigger{{Value: &ahp.AutomationScheduleTrigger{ID: "t",
			Schedule: ahp.AutomationSchedule{Expression: "0 4 1 * *", TimeZone: "Asia/Tokyo"}}}}}
	ctx, cancel := w.patient()
	defer cancel()
	if _, err := w.Dispatch(ctx, ahp.AutomationsURI, &ahp.AutomationCreateRequestedAction{Resource: uri,
		Definition: definition}); err != nil {
		t.Fatal(err)
	}
	entry := func() ahp.AutomationEntry {
		s, _ := w.State(ahp.AutomationsURI).(*ahp.AutomationState)
		if s == nil || len(s.Entries) == 0 {
			return ahp.AutomationEntry{}
		}
		return s.Entries[0]
	}
	run := func(id string) (res ahp.RunAutomationResult) {
		t.Helper()
		if err := w.Call(ctx, "runAutomation", ahp.RunAutomationParams{Channel: ahp.AutomationsURI, Automation: uri,
			RequestID: id}, &res); err != nil {
			t.Fatal(err)
		}
		return res
	}
	first := run("one")
	w.wait("the run to begin", func() bool { return len(entry().Runs) == 1 && entry().Runs[0].PrimarySession != "" })
	session := entry().Runs[0].PrimarySession
	w.mirror(session)
	w.wait("the approval", func() bool { return len(w.session(session).InputNeeded) == 1 })
	next := entry().NextRunAt
	prog.Kill9()
	prog.Restart()
	w.reconnect()
	failed := func() bool {
		_, is := entry().Runs[0].Lifecycle.Value.(*ahp.AutomationRunFailed)
		return is
	}
	w.wait("the run to have failed", failed)
	if e := entry(); e.NextRunAt != next || e.Definition.Title != "Kill" || len(e.Runs) != 1 {
		t.Errorf("after the kill it is %+v", e)
	}
	if again := run("one"); again != first {
		t.Errorf("the same request is another run after the kill: %s, was %s", again.Resource, first.Resource)
	}
	run("two")
	w.wait("the next run", func() bool { return len(entry().Runs) == 2 && entry().Runs[0].PrimarySession != "" })
	w.check()
}
