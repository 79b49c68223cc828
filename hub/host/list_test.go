package host

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func TestListSessions(t *testing.T) { // AHP requirements 50 to 53
	inWorld(t, func(w *world) {
		me := core.Caller{Principal: owner}
		var newestFirst []ahp.URI
		for i := range 7 {
			uri := fmt.Sprintf("fake:/%d", i)
			w.must(w.host.CreateSession(w.t.Context(), me, ahp.CreateSessionParams{Channel: uri}))
			synctest.Wait()
			newestFirst = append([]ahp.URI{uri}, newestFirst...)
			if i != 3 { // 3 and 4 have equal times
				tick()
			}
		}
		newestFirst[2], newestFirst[3] = newestFirst[3], newestFirst[2]

		all, err := w.host.ListSessions(w.t.Context(), me, ahp.ListSessionsParams{})
		w.must(err)
		if got := uris(all.Items); !slices.Equal(got, newestFirst) || all.NextCursor != "" {
			t.Errorf("without a limit: %v and %q, want %v", got, all.NextCursor, newestFirst)
		}
		var got []ahp.URI
		p := ahp.ListSessionsParams{Limit: ahp.Ptr(int64(3))}
		for page := 0; page == 0 || p.Cursor != ""; page++ {
			res, err := w.host.ListSessions(w.t.Context(), me, p)
			w.must(err)
			got = append(got, uris(res.Items)...)
			p.Cursor = res.NextCursor
			if page == 0 { // removing a listed session and adding a new one does not move the others
				w.must(w.host.DisposeSession(w.t.Context(), me, ahp.DisposeSessionParams{Channel: newestFirst[2]}))
				w.must(w.host.CreateSession(w.t.Context(), me, ahp.CreateSessionParams{Channel: "fake:/new"}))
				synctest.Wait()
			}
		}
		if !slices.Equal(got, newestFirst) {
			t.Errorf("page by page: %v, want %v", got, newestFirst)
		}
		for _, bad := range []ahp.ListSessionsParams{{Cursor: "xyz"}, {Cursor: "e30"}, {Limit: ahp.Ptr(int64(0))}} {
			if _, err := w.host.ListSessions(w.t.Context(), me, bad); code(err) != ahp.CodeInvalidParams {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		guest := commenter
		guest.Session = "fake:/1"
		res, err := w.host.ListSessions(w.t.Context(), core.Caller{Principal: guest}, ahp.ListSessionsParams{})
		w.must(err)
		if got := uris(res.Items); !slices.Equal(got, []ahp.URI{"fake:/1"}) {
			t.Errorf("a guest sees %v", got)
		}
	})
}

func uris(list []ahp.SessionSummary) (out []ahp.URI) {
	for _, s := range list {
		out = append(out, s.Resource)
	}
	return out
}

func TestSummaryNotifications(t *testing.T) { // AHP requirements 55, 56, 71 to 74
	inWorld(t, func(w *world) {
		release := hold(w)
		c := w.create()
		c.subscribe(ahp.RootURI)
		summary := map[string]any{}
		fold := func() {
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, n := range c.notes {
				if p, ok := n.Params.(ahp.SessionSummaryChangedParams); ok {
					for k, v := range asJSON(t, p.Changes).(map[string]any) {
						if k == "resource" || k == "provider" || k == "createdAt" {
							t.Errorf("a summary's change names %s", k)
						}
						summary[k] = v
					}
				}
			}
		}
		created, _ := w.host.Summary(session)
		for k, v := range asJSON(t, created).(map[string]any) {
			summary[k] = v
		}
		tick()
		c.say("go")
		c.do(session, &ahp.SessionIsReadChangedAction{IsRead: true})
		c.do(notes, thread("a", comment("1", "x")))
		release(nil)
		fold()
		now, _ := w.host.Summary(session)
		if fmt.Sprint(summary) != fmt.Sprint(asJSON(t, now)) {
			t.Errorf("who listens to the root has\n%v, the host has\n%v", summary, asJSON(t, now))
		}
		if now.ModifiedAt <= created.ModifiedAt || now.Title != "go" || !now.Status.Has(ahp.SessionStatusIsRead) {
			t.Errorf("the summary is %+v", now)
		}
		listed, chat := w.session().Chats[0], w.chatState()
		if listed.Status != chat.Status || listed.ModifiedAt != chat.ModifiedAt ||
			listed.ModifiedAt == created.CreatedAt {
			t.Errorf("the session lists %+v, and the chat is %d, changed %s", listed, chat.Status, chat.ModifiedAt)
		}
		c.converged()
	})
}

func TestStatusOfASession(t *testing.T) { // AHP requirement 73
	chat := func(uri ahp.URI, s ahp.SessionStatus, at string) ahp.ChatSummary {
		return ahp.ChatSummary{Resource: uri, Status: s, ModifiedAt: at, Activity: uri}
	}
	idle, running, asks, failed := ahp.SessionStatusIdle, ahp.SessionStatusInProgress, ahp.SessionStatusInputNeeded,
		ahp.SessionStatusError
	for name, tc := range map[string]struct {
		chats    []ahp.ChatSummary
		byDef    ahp.URI
		want     ahp.SessionStatus
		activity string
	}{
		"the default chat's":    {[]ahp.ChatSummary{chat("a", running, "1"), chat("b", idle, "2")}, "a", running, "a"},
		"else the latest one's": {[]ahp.ChatSummary{chat("a", idle, "1"), chat("b", running, "2")}, "", running, "b"},
		"a question wins": {[]ahp.ChatSummary{chat("a", running, "1"), chat("b", asks, "2"),
			chat("c", failed, "3")}, "a", asks, "a"},
		"then a failure": {[]ahp.ChatSummary{chat("a", running, "1"), chat("b", failed, "2")}, "a", failed, "a"},
		"no chat":        {nil, "", idle, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &ahp.SessionState{Status: ahp.SessionStatusIsArchived | asks, Chats: tc.chats, DefaultChat: tc.byDef}
			if got := statusOf(s); got != tc.want|ahp.SessionStatusIsArchived {
				t.Errorf("status %d, want %d", got, tc.want|ahp.SessionStatusIsArchived)
			}
			if got := activityOf(s); got != tc.activity {
				t.Errorf("activity %q, want %q", got, tc.activity)
			}
		})
	}
}

func TestOlderTurns(t *testing.T) { // AHP requirements 33, 88, 89
	inWorld(t, func(w *world) {
		c := w.create()
		for range 65 {
			c.say("x")
		}
		s := w.chatState()
		view := TurnsView(s, 10)
		if len(view.Turns) != 10 || view.TurnsNextCursor == "" || view.Turns[9].ID != s.Turns[64].ID ||
			TurnsView(s, 500) != s {
			t.Fatalf("the view has %d turns, cursor %q", len(view.Turns), view.TurnsNextCursor)
		}
		all := view.Turns
		for cursor := view.TurnsNextCursor; cursor != ""; {
			end, err := turnsBefore(s.Turns, cursor)
			w.must(err)
			start := max(0, end-turnsPage)
			all = append(slices.Clone(s.Turns[start:end]), all...)
			cursor = turnsCursor(s.Turns, start)
		}
		if !slices.Equal(all, s.Turns) {
			t.Errorf("page by page there are %d of %d turns", len(all), len(s.Turns))
		}
		w.must(w.host.FetchTurns(w.t.Context(), c.caller, ahp.FetchTurnsParams{Channel: w.chat(),
			Cursor: view.TurnsNextCursor}))
		if got := c.news(); got[len(got)-1] != "chat/turnsLoaded" {
			t.Errorf("who asked for older turns heard %v", got)
		}
		for _, p := range []ahp.FetchTurnsParams{{Channel: w.chat(), Cursor: "xyz"}, {Channel: session}} {
			if err := w.host.FetchTurns(w.t.Context(), c.caller, p); code(err) != ahp.CodeInvalidParams {
				t.Errorf("%+v: %v", p, err)
			}
		}
		if err := w.host.FetchTurns(w.t.Context(), c.caller, ahp.FetchTurnsParams{Channel: "ahp-chat:/none"}); code(
			err) != ahp.CodeNotFound {
			t.Errorf("an unknown chat: %v", err)
		}
	})
}
