package host

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

func TestFirstSnapshotHasChatsAndDefaultChat(t *testing.T) { // AHP requirements 68 to 70
	inWorld(t, func(w *world) {
		opening := make(chan struct{})
		w.agent.open = func(context.Context, agent.Spec) error { <-opening; return nil }
		c := w.connect(owner, "ana-1")
		c.subscribe(ahp.RootURI)
		begin := make(chan struct{})
		w.must(w.hub.Do(func(tx *hub.Tx) { tx.Effect(session, func(context.Context) { <-begin }) }))
		w.must(w.host.CreateSession(w.t.Context(), c.caller, ahp.CreateSessionParams{Channel: session}))
		w.must(w.host.Keep(session)) // opens its agent before the first message
		close(begin)
		s := w.session()
		if s.Lifecycle != ahp.SessionLifecycleCreating {
			t.Errorf("lifecycle is %s before the agent opened", s.Lifecycle)
		}
		if len(s.Chats) != 1 || s.DefaultChat != s.Chats[0].Resource || !strings.HasPrefix(s.DefaultChat,
			"ahp-chat:/") {
			t.Errorf("default chat %q, chats %+v", s.DefaultChat, s.Chats)
		}
		if s.ActiveClients == nil || w.chatState() == nil || w.threads() == nil {
			t.Error("a channel or list is missing")
		}
		if got := c.news(); !slices.Contains(got, "root/sessionAdded") ||
			!slices.Contains(got, "root/activeSessionsChanged") {
			t.Errorf("root's subscribers heard %v", got)
		}
		c.subscribe(session)
		close(opening)
		if got := c.news(); !slices.Contains(got, "session/ready") {
			t.Errorf("subscribers heard %v, not session/ready", got)
		}
		if w.agent.spec.Dirs[0] != w.dir || w.agent.spec.Config("approval") != "ask" {
			t.Errorf("the agent was opened in %v with approval %q", w.agent.spec.Dirs, w.agent.spec.Config("approval"))
		}
		c.converged()
	})
}

func TestFailedAgentStartFailsSession(t *testing.T) { // AHP requirement 68
	inWorld(t, func(w *world) {
		w.agent.open = func(context.Context, agent.Spec) error { return errors.New("no such program") }
		w.create()
		s := w.session()
		if s.Lifecycle != ahp.SessionLifecycleFailed || s.CreationError == nil ||
			s.CreationError.Message != "no such program" {
			t.Fatalf("lifecycle %s, error %+v", s.Lifecycle, s.CreationError)
		}
		if sum, _ := w.host.Summary(session); sum.Status.Activity() != ahp.SessionStatusError {
			t.Errorf("the summary's status is %d", sum.Status)
		}
	})
}

// The next message retries a failed opening, and its turn has the result.
func TestMessageOpensAFailedSessionAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		broken := errors.New("log in first")
		w.agent.open = func(context.Context, agent.Spec) error { return broken }
		c := w.create()
		c.do(w.chat(), started("hello"))
		synctest.Wait()
		turn := w.chatState().Turns[0]
		if turn.State != ahp.TurnStateError || !isResumable(turn) ||
			w.session().Lifecycle != ahp.SessionLifecycleFailed {
			t.Fatalf("the turn is %s in a session that is %s", turn.State, w.session().Lifecycle)
		}
		broken = nil
		c.do(w.chat(), &ahp.ChatTurnResumeAction{TurnID: turn.ID})
		synctest.Wait()
		if s := w.session(); s.Lifecycle != ahp.SessionLifecycleReady ||
			w.chatState().Turns[0].State != ahp.TurnStateComplete {
			t.Errorf("the session is %s, its turn %s", s.Lifecycle, w.chatState().Turns[0].State)
		}
	})
}

func TestCreateSessionRefuses(t *testing.T) { // AHP requirements 65, 66, 80
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	config := func(key, value string) ahp.Meta { return ahp.Meta{key: json.RawMessage(value)} }
	for name, tc := range map[string]struct {
		p    ahp.CreateSessionParams
		code int
		says string
	}{
		"taken":  {ahp.CreateSessionParams{Channel: session}, ahp.CodeSessionAlreadyExists, "already"},
		"root":   {ahp.CreateSessionParams{Channel: ahp.RootURI}, ahp.CodeInvalidParams, "ahp-session:/"},
		"no URI": {ahp.CreateSessionParams{Channel: "hello"}, ahp.CodeInvalidParams, "URI"},
		"unknown agent": {ahp.CreateSessionParams{Channel: "fake:/2", Provider: "nobody"}, ahp.CodeProviderNotFound,
			"Choose one of fake"},
		"no directory": {ahp.CreateSessionParams{Channel: "fake:/2",
			WorkingDirectories: []ahp.URI{"file:///no/such/place"}}, ahp.CodeInvalidParams, "does not exist"},
		"a file": {ahp.CreateSessionParams{Channel: "fake:/2",
			WorkingDirectories: []ahp.URI{core.FileURI(file)}}, ahp.CodeInvalidParams, "is a file"},
		"another machine": {ahp.CreateSessionParams{Channel: "fake:/2",
			WorkingDirectories: []ahp.URI{"file://elsewhere/tmp"}}, ahp.CodeInvalidParams, "not a file"},
		"wrong type": {ahp.CreateSessionParams{Channel: "fake:/2", Config: config("shell", `7`)},
			ahp.CodeInvalidParams, "type string"},
		"another client": {ahp.CreateSessionParams{Channel: "fake:/2",
			ActiveClient: &ahp.SessionActiveClient{ClientID: "eve"}}, ahp.CodeInvalidParams, "activeClient"},
		"annotations' name": {ahp.CreateSessionParams{Channel: session + "/annotations"}, ahp.CodeInvalidParams,
			"reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := w.create()
				err := w.host.CreateSession(w.t.Context(), c.caller, tc.p)
				if code(err) != tc.code || !strings.Contains(err.Error(), tc.says) {
					t.Fatalf("got %v, want code %d saying %q", err, tc.code, tc.says)
				}
			})
		})
	}
}

func TestOnlyTheOwnerMakesSessions(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create()
		for _, p := range []core.Caller{{Principal: viewer}, {Principal: commenter}, {Principal: driver}, {}} {
			if err := w.host.CreateSession(w.t.Context(), p, ahp.CreateSessionParams{Channel: "fake:/2"}); code(
				err) != ahp.CodePermissionDenied {
				t.Errorf("%s: got %v", p.Role, err)
			}
			if err := w.host.DisposeSession(w.t.Context(), p, ahp.DisposeSessionParams{Channel: session}); err == nil {
				t.Errorf("%s disposed of the session", p.Role)
			}
		}
	})
}

func TestDisposeAndRestore(t *testing.T) { // AHP requirement 78
	inWorld(t, func(w *world) {
		stopped := make(chan error, 1)
		w.agent.prompt = func(ctx context.Context, turn agent.Turn) error {
			if turn.Message.Text == "wait" {
				<-ctx.Done()
				stopped <- context.Cause(ctx)
				return ctx.Err()
			}
			return nil
		}
		c := w.create()
		c.subscribe(ahp.RootURI)
		c.say("first")
		c.say("wait")
		c.do(w.chat(), &ahp.ChatPendingMessageSetAction{Kind: ahp.PendingMessageKindQueued, ID: "q",
			Message: user("queued")})
		chat := w.chat()
		c.news()
		w.must(w.host.DisposeSession(w.t.Context(), c.caller, ahp.DisposeSessionParams{Channel: session}))
		synctest.Wait()
		<-stopped
		for _, uri := range []ahp.URI{session, chat, notes} {
			if _, _, ok := w.hub.State(uri); ok {
				t.Errorf("the channel %s is still there", uri)
			}
		}
		if got := c.news(); !slices.Contains(got, "root/sessionRemoved") ||
			!slices.Contains(got, "chat/turnCancelled") {
			t.Errorf("subscribers heard %v", got)
		}
		if w.agent.closed != 1 {
			t.Errorf("the agent was closed %d times", w.agent.closed)
		}
		if slices.Contains(c.caller.Conn.Subscribed(), session) {
			t.Error("a subscription outlived the session")
		}
		// AHP requirement 67
		if err := w.host.Prepare(w.t.Context(), c.caller, session); code(err) != ahp.CodeSessionNotFound {
			t.Errorf("following a disposed session: %v", err)
		}
		if got := c.try(session, &ahp.SessionTitleChangedAction{Title: "x"}); got != "unknown" { // AHP requirement 36
			t.Errorf("an action on a disposed session is answered: %q", got)
		}
		if len(w.host.Summaries(c.caller)) != 0 || len(w.host.Trash(c.caller)) != 1 {
			t.Error("the session is in the wrong list")
		}

		w.must(w.host.RestoreSession(w.t.Context(), c.caller, session))
		synctest.Wait()
		if s := w.chatState(); w.chat() != chat || len(s.Turns) != 2 || s.Turns[1].State != ahp.TurnStateCancelled ||
			len(s.QueuedMessages) != 1 {
			t.Errorf("what came back: chat %s with %+v", w.chat(), s)
		}
		c.say("again")
		if got := w.agent.prompts(); got[len(got)-1] != "queued" || got[len(got)-2] != "again" {
			t.Errorf("the agent was asked %v", got)
		}
		if err := w.host.RestoreSession(w.t.Context(), c.caller, session); code(err) != ahp.CodeSessionNotFound {
			t.Errorf("restoring twice: %v", err)
		}
	})
}

func TestTrashIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Config{Limits: core.Limits{Trash: 2}}, hubConfig())
		defer w.stop()
		me := core.Caller{Principal: owner}
		for _, uri := range []ahp.URI{"fake:/1", "fake:/2", "fake:/3"} {
			w.must(w.host.CreateSession(w.t.Context(), me, ahp.CreateSessionParams{Channel: uri}))
			synctest.Wait()
			w.must(w.host.DisposeSession(w.t.Context(), me, ahp.DisposeSessionParams{Channel: uri}))
			tick()
		}
		synctest.Wait()
		if trash := w.host.Trash(me); len(trash) != 2 || trash[1].Resource != "fake:/2" {
			t.Errorf("the trash holds %+v", trash)
		}
		w.must(w.host.CreateSession(w.t.Context(), me, ahp.CreateSessionParams{Channel: "fake:/1"})) // free again
		synctest.Wait()
	})
}

func TestTitleComesFromTheFirstMessage(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		c.say("\n  go test   ./...\nand more")
		if got := w.session().Title; got != "go test   ./..." {
			t.Errorf("the title is %q", got)
		}
		c.do(session, &ahp.SessionTitleChangedAction{Title: " My \n work "})
		c.say("something else")
		if sum, _ := w.host.Summary(session); sum.Title != "My work" {
			t.Errorf("the title is %q", sum.Title)
		}
		c.refused(session, &ahp.SessionTitleChangedAction{Title: " \n"}, "at least one character")
		// AHP requirements 37, 79
		for _, chat := range []ahp.URI{w.chat(), "ahp-chat:/nobody"} {
			c.refused(session, &ahp.SessionDefaultChatChangedAction{DefaultChat: chat}, "only the server")
		}
		c.converged()
	})
}
