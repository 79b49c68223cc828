package host

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/automations"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
)

func TestScheduledRunWithoutClient(t *testing.T) {
	inWorld(t, func(w *world) {
		d := daily("Nightly review", byCron("30 0 * * *", ""))
		d.Session = ahp.AutomationSessionTemplate{Provider: "fake", WorkingDirectories: []ahp.URI{core.FileURI(w.dir)},
			Model: &ahp.ModelSelection{ID: "big"}}
		c := w.automate(d)
		c.caller.Conn.Close(context.Canceled)
		e := w.automation()
		if e.NextRunAt != "2000-01-01T00:30:00.000Z" || !slices.Equal(e.Operations, []ahp.AutomationOperation{"update",
			"remove", "run"}) {
			t.Fatalf("before the first run it is %+v", e)
		}
		wait(30 * time.Minute)
		w.runs("completed")
		e = w.automation()
		r := e.Runs[0]
		o, ok := r.Origin.Value.(*ahp.AutomationTriggerRunOrigin)
		if !ok || o.TriggerID != "clock" || o.ScheduledFor != "2000-01-01T00:30:00.000Z" || o.CatchUp != nil {
			t.Errorf("it ran because of %+v", r.Origin.Value)
		}
		if e.NextRunAt != "2000-01-02T00:30:00.000Z" || r.SessionCount != 1 || r.PrimarySession == "" {
			t.Errorf("after the first run it is %+v", e)
		}
		s, _ := hub.StateOf[*ahp.SessionState](w.hub, r.PrimarySession)
		from, _ := s.Origin.Value.(*ahp.SessionAutomationOrigin)
		if s.Title != "Nightly review" || from == nil || from.Automation != nightly || from.Run != r.Resource ||
			s.WorkingDirectories[0] != core.FileURI(w.dir) {
			t.Errorf("its session is %+v", s)
		}
		st, _ := hub.StateOf[*ahp.ChatState](w.hub, s.DefaultChat)
		turn := st.Turns[0]
		if turn.Message.Origin.Kind != ahp.MessageKindAutomation || turn.Message.Text != "look at what changed" ||
			turn.Message.Model.ID != "big" {
			t.Errorf("it was told %+v", turn.Message)
		}
		if FromGuest(turn.Message) {
			t.Error("the owner's automation is taken for a guest")
		}
		wait(24 * time.Hour)
		w.runs("completed", "completed")
	})
}

func TestRunEndsWithItsTurn(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.automate(daily("By hand"))
		for _, p := range []func(context.Context, agent.Turn) error{
			nil,
			func(context.Context, agent.Turn) error { return &agent.Failure{Message: "no tokens left"} },
			func(ctx context.Context, _ agent.Turn) error { <-ctx.Done(); return ctx.Err() },
		} {
			w.agent.prompt = p
			c.runNow(ids.New())
			synctest.Wait()
		}
		w.runs("running", "failed", "completed")
		running := w.automation().Runs[0]
		c.subscribe(running.Resource)
		c.do(running.Resource, &ahp.AutomationRunCancelRequestedAction{})
		w.runs("cancelled", "failed", "completed")
		c.refused(running.Resource, &ahp.AutomationRunCancelRequestedAction{}, "nothing to cancel")
		e := w.automation()
		if f := e.Runs[1].Lifecycle.Value.(*ahp.AutomationRunFailed); f.Error.Message != "no tokens left" ||
			f.StartedAt == "" {
			t.Errorf("it failed with %+v", f)
		}
		if _, manual := e.Runs[0].Origin.Value.(*ahp.AutomationManualRunOrigin); !manual {
			t.Errorf("it ran because of %+v", e.Runs[0].Origin.Value)
		}
		c.converged()
	})
}

// A run that needs an approval waits for it, and later runs wait for that run.
func TestRunWaitsForAnApproval(t *testing.T) {
	inWorld(t, func(w *world) {
		w.agent.prompt = waiting().prompt
		c := w.automate(daily("Careful", byCron("0 * * * *", "")))
		wait(time.Hour)
		w.runs("running")
		session := w.automation().Runs[0].PrimarySession
		if s, _ := w.host.Summary(session); s.Status.Activity() != ahp.SessionStatusInputNeeded {
			t.Fatalf("its session is %v", s.Status)
		}
		wait(5 * time.Hour)
		w.runs("running")
		if e := w.automation(); e.NextRunAt != "2000-01-01T02:00:00.000Z" {
			t.Errorf("what was missed is due at %s", e.NextRunAt)
		}
		w.agent.prompt = nil
		sum, _ := w.host.Summary(session)
		st, _ := hub.StateOf[*ahp.ChatState](w.hub, sum.DefaultChat)
		turn := st.ActiveTurn.ID
		c.do(sum.DefaultChat, &ahp.ChatToolCallConfirmedAction{TurnID: turn, ToolCallID: "c", Approved: true,
			Confirmed: ahp.ToolCallConfirmationReasonUserAction})
		w.runs("completed", "completed")
		if o := w.automation().Runs[0].Origin.Value.(*ahp.AutomationTriggerRunOrigin); o.CatchUp == nil ||
			o.ScheduledFor != "2000-01-01T02:00:00.000Z" {
			t.Errorf("what was missed ran because of %+v", o)
		}
		if e := w.automation(); e.NextRunAt != "2000-01-01T07:00:00.000Z" {
			t.Errorf("it comes next at %s", e.NextRunAt)
		}
	})
}

func TestRequestsAreAnsweredOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		hold := make(chan struct{})
		w.agent.prompt = func(context.Context, agent.Turn) error { <-hold; return nil }
		c := w.automate(daily("By hand"))
		first := c.runNow("one")
		if again := c.runNow("one"); again != first {
			t.Errorf("the same request made %s and %s", first, again)
		}
		second := c.runNow("two")
		w.runs("pending", "running") // one at a time
		for i := range automations.MaxPending - 1 {
			c.runNow(strings.Repeat("x", i+1))
		}
		_, err := w.host.Automations.Run(w.t.Context(), c.caller, ahp.RunAutomationParams{Channel: ahp.AutomationsURI,
			Automation: nightly, RequestID: "many"})
		if code(err) != ahp.CodeConflict {
			t.Errorf("past the limit: %v", err)
		}
		c.subscribe(second)
		c.do(second, &ahp.AutomationRunCancelRequestedAction{})
		close(hold)
		synctest.Wait()
		if got := w.statuses(); len(got) != automations.MaxPending+1 || got[len(got)-1] != "completed" ||
			got[len(got)-2] != "cancelled" || got[0] != "completed" {
			t.Errorf("in the end the runs are %v", got)
		}
		if n := len(w.agent.prompts()); n != automations.MaxPending {
			t.Errorf("the agent was asked %d times", n)
		}
	})
}

func TestSomeRunsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Limits: core.Limits{AutomationsAtOnce: 2}}, hub.Config{})
		defer w.stop()
		hold := make(chan struct{})
		w.agent.prompt = func(context.Context, agent.Turn) error { <-hold; return nil }
		c := w.connect(owner, "ana-1")
		for _, id := range []string{"a", "b", "c"} {
			c.do(ahp.AutomationsURI, &ahp.AutomationCreateRequestedAction{Resource: "ahp-automation:/" + id,
				Definition: daily(id, byCron("0 9 * * *", ""))})
		}
		wait(9 * time.Hour)
		running := 0
		for _, e := range w.host.Automations.List(c.caller) {
			if statusOfRun(e.Runs[0].Lifecycle) == "running" {
				running++
			}
		}
		if running != 2 || len(w.agent.prompts()) != 2 {
			t.Errorf("%d run at once", running)
		}
		close(hold)
		synctest.Wait()
		if n := len(w.agent.prompts()); n != 3 {
			t.Errorf("%d ran in the end", n)
		}
	})
}

func TestRunFailsWhenTemplateBecomesInvalid(t *testing.T) {
	inWorld(t, func(w *world) {
		d := daily("Gone")
		d.Session.WorkingDirectories = []ahp.URI{core.FileURI(w.dir + "/nowhere")}
		c := w.connect(owner, "ana-1")
		c.subscribe(ahp.AutomationsURI)
		create := &ahp.AutomationCreateRequestedAction{Resource: nightly, Definition: d}
		c.refused(ahp.AutomationsURI, create, "does not exist")
		create.Definition.Session = ahp.AutomationSessionTemplate{Provider: "nobody"}
		c.refused(ahp.AutomationsURI, create, "no agent")
		create.Definition.Session = ahp.AutomationSessionTemplate{Config: ahp.Meta{"colour": []byte(`"red"`)}}
		c.refused(ahp.AutomationsURI, create, "setting")
		create.Definition.Session = ahp.AutomationSessionTemplate{}
		c.do(ahp.AutomationsURI, create)
		c.refused(ahp.AutomationsURI, &ahp.AutomationUpdateRequestedAction{Resource: nightly,
			Changes: ahp.AutomationDefinitionPatch{Session: &d.Session}}, "does not exist")

		// Remove the agent after saving.
		delete(w.host.cfg.Agents, "fake")
		w.host.cfg.Agents["other"] = w.agent
		c.runNow("one")
		w.runs("failed")
		if f := w.automation().Runs[0].Lifecycle.Value.(*ahp.AutomationRunFailed); f.StartedAt != "" ||
			!strings.Contains(f.Error.Message, "no agent") {
			t.Errorf("it failed with %+v", f)
		}
	})
}

func TestRefuseInvalidAutomations(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.automate(daily("One", byCron("0 9 * * *", "")))
		for _, x := range []struct {
			a    ahp.Action
			says string
		}{
			{&ahp.AutomationCreateRequestedAction{Resource: nightly, Definition: daily("Two")}, "already"},
			{&ahp.AutomationCreateRequestedAction{Resource: "ahp-session:/x", Definition: daily("Two")},
				"cannot be an automation's URI"},
			{&ahp.AutomationCreateRequestedAction{Resource: "ahp-automation:/", Definition: daily("Two")},
				"cannot be an automation's URI"},
			{&ahp.AutomationCreateRequestedAction{Resource: "ahp-automation:/x",
				Definition: daily("Two", byCron("9 o'clock", ""))}, "five fields"},
			{&ahp.AutomationCreateRequestedAction{Resource: "ahp-automation:/x",
				Definition: daily("Two", byCron("*/2 * * * *", ""))}, "at least 5 minutes"},
			{&ahp.AutomationCreateRequestedAction{Resource: "ahp-automation:/x", Definition: daily("")}, "title"},
			{&ahp.AutomationUpdateRequestedAction{Resource: "ahp-automation:/x"}, "there is no automation"},
			{&ahp.AutomationUpdateRequestedAction{Resource: nightly,
				Changes: ahp.AutomationDefinitionPatch{Title: ahp.Ptr(" ")}}, "title"},
			{&ahp.AutomationSetAction{Automation: w.automation()}, "only the server"},
		} {
			c.refused(ahp.AutomationsURI, x.a, x.says)
		}
		if e := w.automation(); e.Definition.Title != "One" || e.NextRunAt == "" {
			t.Errorf("a refusal changed it: %+v", e)
		}
		ask := func(a, channel ahp.URI, id string) int {
			_, err := w.host.Automations.Run(w.t.Context(), c.caller, ahp.RunAutomationParams{Channel: channel,
				Automation: a, RequestID: id})
			return code(err)
		}
		if got := []int{ask("ahp-automation:/x", ahp.AutomationsURI, "1"), ask(nightly, ahp.AutomationsURI, ""),
			ask(nightly, ahp.RootURI, "1")}; !slices.Equal(got, []int{ahp.CodeNotFound, ahp.CodeInvalidParams,
			ahp.CodeInvalidParams}) {
			t.Errorf("runAutomation is refused with %v", got)
		}
		fetch := func(a ahp.URI, cursor string) int {
			_, err := w.host.Automations.FetchRuns(w.t.Context(), c.caller,
				ahp.FetchAutomationRunsParams{Channel: ahp.AutomationsURI, Automation: a, Cursor: cursor})
			return code(err)
		}
		// the cursor of a removed run
		gone := base64.RawURLEncoding.EncodeToString([]byte("after:ahp-automation-run:/x"))
		if got := []int{fetch("ahp-automation:/x", ""), fetch(nightly, "nonsense"), fetch(nightly, gone),
			fetch(nightly, "")}; !slices.Equal(got, []int{ahp.CodeNotFound, ahp.CodeInvalidParams,
			ahp.CodeInvalidParams, 0}) {
			t.Errorf("fetchAutomationRuns is refused with %v", got)
		}
		_, err := w.host.Automations.ListTriggerDefinitions(w.t.Context(), c.caller,
			ahp.ListAutomationTriggerDefinitionsParams{Channel: ahp.RootURI, Provider: "nobody"})
		if code(err) != ahp.CodeProviderNotFound {
			t.Error(err)
		}
		list, err := w.host.Automations.ListTriggerDefinitions(w.t.Context(), c.caller,
			ahp.ListAutomationTriggerDefinitionsParams{Channel: ahp.RootURI})
		if err != nil || list.Items == nil || len(list.Items) != 0 {
			t.Errorf("the events are %+v, %v", list, err)
		}
	})
}

func TestUpdateAndRemove(t *testing.T) {
	inWorld(t, func(w *world) {
		hold := make(chan struct{})
		w.agent.prompt = func(ctx context.Context, _ agent.Turn) error {
			select {
			case <-hold:
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		c := w.automate(daily("One", byCron("0 9 * * *", "")))
		wait(time.Minute)
		made := w.automation()
		c.do(ahp.AutomationsURI, &ahp.AutomationUpdateRequestedAction{Resource: nightly,
			Changes: ahp.AutomationDefinitionPatch{Title: ahp.Ptr("Two")}})
		c.do(ahp.AutomationsURI, &ahp.AutomationUpdateRequestedAction{Resource: nightly,
			Changes: ahp.AutomationDefinitionPatch{Enabled: ahp.Ptr(false)}})
		e := w.automation()
		if e.Definition.Title != "Two" || e.Definition.Enabled || e.NextRunAt != "" || e.CreatedAt != made.CreatedAt ||
			e.ModifiedAt == made.ModifiedAt {
			t.Errorf("two changes of different fields made it %+v", e)
		}
		wait(24 * time.Hour)
		w.runs()
		run := c.runNow("by hand") // works although disabled
		c.runNow("waits")
		w.runs("pending", "running")
		session := w.automation().Runs[1].PrimarySession
		c.subscribe(run)
		c.do(ahp.AutomationsURI, &ahp.AutomationRemovedAction{Resource: nightly})
		c.do(ahp.AutomationsURI, &ahp.AutomationRemovedAction{Resource: nightly}) // a repeated removal is no error
		if _, ok := w.host.Automations.Get(nightly); ok {
			t.Error("it is still there")
		}
		if _, known := w.hub.Info(run); known {
			t.Error("its run is still there")
		}
		if s, ok := w.host.Summary(session); !ok || s.Status.Activity() != ahp.SessionStatusIdle {
			t.Errorf("the session of its run is %+v", s)
		}
		c.converged()
	})
}

func TestHistoryIsBoundedAndPaged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Limits: core.Limits{AutomationRuns: 45}}, hub.Config{})
		defer w.stop()
		c := w.automate(daily("Often"))
		var all []ahp.URI
		for range 50 {
			all = append(all, c.runNow(ids.New()))
			synctest.Wait()
		}
		slices.Reverse(all)
		shows := func(n int, more bool) ahp.AutomationEntry {
			t.Helper()
			e := w.automation()
			var got []ahp.URI
			for _, r := range e.Runs {
				got = append(got, r.Resource)
			}
			if !slices.Equal(got, all[:n]) || (e.RunsNextCursor != "") != more {
				t.Errorf("shows %d runs, cursor %q; want the newest %d", len(got), e.RunsNextCursor, n)
			}
			return e
		}
		fetch := func(cursor string) {
			t.Helper()
			_, err := w.host.Automations.FetchRuns(w.t.Context(), c.caller,
				ahp.FetchAutomationRunsParams{Channel: ahp.AutomationsURI, Automation: nightly, Cursor: cursor})
			w.must(err)
		}
		first := shows(20, true).RunsNextCursor
		fetch(first)
		second := shows(40, true).RunsNextCursor
		fetch(first) // also requested by another client
		shows(40, true)
		fetch(second)
		shows(45, false)
		fetch("")
		shows(45, false)
		if _, known := w.hub.Info(all[45]); known {
			t.Error("a run past the limit still has its channel")
		}
		if len(w.host.Automations.ListRuns(c.caller, nightly)) != 45 {
			t.Error("the host keeps more runs than it says")
		}
		c.converged()
	})
}

func TestAutomationStopsByItself(t *testing.T) {
	inWorld(t, func(w *world) {
		d := daily("Twice", byCron("0 * * * *", ""))
		d.DisableConditions = []ahp.AutomationDisableCondition{{Value: &ahp.AutomationAfterRunsCondition{Max: 2}}}
		c := w.automate(d)
		c.runNow("by hand") // does not count
		wait(24 * time.Hour)
		w.runs("completed", "completed", "completed")
		if e := w.automation(); e.Definition.Enabled || *e.RunCount != 2 || e.NextRunAt != "" {
			t.Errorf("after two scheduled runs it is %+v", e)
		}
		c.runNow("and again")
		w.runs("completed", "completed", "completed", "completed")
		c.do(ahp.AutomationsURI, &ahp.AutomationUpdateRequestedAction{Resource: nightly,
			Changes: ahp.AutomationDefinitionPatch{Enabled: ahp.Ptr(true),
				DisableConditions: []ahp.AutomationDisableCondition{{Value: &ahp.AutomationAfterDateCondition{Date: "2000-01-02T02:30:00Z"}}}}})
		wait(24 * time.Hour)
		if e := w.automation(); e.Definition.Enabled || e.RunCount != nil || len(e.Runs) != 6 {
			t.Errorf("past its date it is %+v, with %d runs", e.Definition, len(e.Runs))
		}
	})
}

func TestAutomationsAreTheOwners(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.automate(daily("Secret"))
		c.runNow("one")
		w.runs("completed")
		r := w.automation().Runs[0]
		guest := commenter
		guest.Session = r.PrimarySession
		g := w.connect(guest, "ben-1")
		if g.try(ahp.AutomationsURI, &ahp.AutomationRemovedAction{Resource: nightly}) != "unknown" ||
			g.try(r.Resource, &ahp.AutomationRunCancelRequestedAction{}) != "unknown" {
			t.Error("a guest reaches automations")
		}
		for _, uri := range []ahp.URI{ahp.AutomationsURI, r.Resource} {
			if code(w.host.Prepare(w.t.Context(), g.caller, uri)) != ahp.CodePermissionDenied {
				t.Errorf("a guest follows %s", uri)
			}
		}
		_, err := w.host.Automations.Run(w.t.Context(), g.caller, ahp.RunAutomationParams{Channel: ahp.AutomationsURI,
			Automation: nightly, RequestID: "1"})
		if code(err) != ahp.CodePermissionDenied || w.host.Automations.Capabilities(g.caller) != nil ||
			w.host.Automations.List(g.caller) != nil || w.host.Automations.ListRuns(g.caller, nightly) != nil {
			t.Errorf("a guest runs automations: %v", err)
		}
		caps := w.host.Automations.Capabilities(c.caller)
		if caps == nil || caps.Create == nil || caps.RunCancellation == nil || caps.Customizations != nil ||
			*caps.RunHistoryLimit != 100 || *caps.Schedules.MinIntervalMinutes != 5 {
			t.Errorf("the owner is offered %+v", caps)
		}
	})
}

func TestRunLosesItsSession(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.automate(daily("By hand"))
		run := c.runNow("one")
		synctest.Wait()
		c.subscribe(run)
		session := w.automation().Runs[0].PrimarySession
		w.must(w.host.DisposeSession(w.t.Context(), c.caller, ahp.DisposeSessionParams{Channel: session}))
		synctest.Wait()
		if r := w.automation().Runs[0]; r.PrimarySession != "" || r.SessionCount != 0 ||
			statusOfRun(r.Lifecycle) != "completed" {
			t.Errorf("after its session went the run is %+v", r)
		}
		c.converged()
	})
}
