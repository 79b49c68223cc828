package audit_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/store"
)

const (
	session  = "ahp-session:/1"
	terminal = "ahp-terminal:/1"
)

var ana = access.Owner("Ana")

// world is a hub with its store and its audit.
type world struct {
	t     *testing.T
	store *store.Store
	hub   *hub.Hub
	log   *audit.Log
	conn  *hub.Conn
	now   time.Time
	seq   int64
	stop  func()
}

func newWorld(t *testing.T, dir string) *world {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	boot, err := s.Boot(t.Context())
	must(t, err)
	w := &world{t: t, store: s, now: time.Now()}
	w.hub = hub.New(hub.Config{Journal: true, Boot: boot, Derive: func(tx *hub.Tx, e *hub.Envelope) {
		w.log.Derive(tx, e)
	}})
	w.log = audit.New(audit.Config{Hub: w.hub, Store: s, Now: func() time.Time { return w.now }})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, w.hub) }()
	w.stop = func() {
		if cancel != nil {
			cancel()
			cancel = nil
			must(t, errors.Join(<-done, s.Close()))
		}
	}
	t.Cleanup(w.stop)
	if len(boot.Channels) == 0 {
		must(t, w.hub.Do(func(tx *hub.Tx) {
			must(t, tx.Open(hub.ChannelInfo{URI: session, Kind: ahp.ChannelSession, Session: session},
				&ahp.SessionState{Title: "old"}))
			must(t, tx.Open(hub.ChannelInfo{URI: terminal, Kind: ahp.ChannelTerminal, Session: session},
				&ahp.TerminalState{Title: "sh",
					Lifecycle: ahp.TerminalLifecycleState{Status: "running"},
					Claim:     ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: "c"}}}))
		}))
	}
	w.conn, err = w.hub.Connect(hub.ConnConfig{Principal: ana.ID, ClientID: "c"})
	must(t, err)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func accept(_ *hub.Tx, _ ahp.State, a ahp.Action) (ahp.Action, string) { return a, "" }

func refuse(*hub.Tx, ahp.State, ahp.Action) (ahp.Action, string) { return nil, "not you" }

// dispatch runs an action of a client; check may refuse it.
func (w *world) dispatch(ctx context.Context, channel ahp.URI, a ahp.Action, check hub.Check) hub.Outcome {
	w.seq++
	return w.hub.Dispatch(w.conn, channel, w.seq, a, w.log.Action(ctx, ana, channel, check))
}

func (w *world) list() []audit.Entry {
	w.t.Helper()
	all, err := w.log.List(w.t.Context())
	must(w.t, err)
	return all
}

func TestAppliedActionsHaveTheirEntry(t *testing.T) {
	w := newWorld(t, t.TempDir())
	ctx := audit.WithOrigin(t.Context(), "192.0.2.7")
	rename := &ahp.SessionTitleChangedAction{Title: "new"}
	o := w.dispatch(ctx, session, rename, accept)
	for why, what := range map[string]func() hub.Outcome{
		"refused": func() hub.Outcome {
			return w.dispatch(ctx, session, &ahp.SessionTitleChangedAction{Title: "x"}, refuse)
		},
		"changes nothing": func() hub.Outcome {
			return w.dispatch(ctx, session, &ahp.SessionTitleChangedAction{Title: "new"}, accept)
		},
		"not audited": func() hub.Outcome {
			return w.dispatch(ctx, session, &ahp.SessionIsReadChangedAction{IsRead: true}, accept)
		},
		"sent again": func() hub.Outcome {
			return w.hub.Dispatch(w.conn, session, 1, rename, w.log.Action(ctx, ana, session, accept))
		},
	} {
		before := len(w.list())
		if what(); len(w.list()) != before {
			t.Errorf("an action that is %s has the entry %+v", why, w.list()[before])
		}
	}
	got := w.list()[0]
	if got.Seq != o.Env.Seq || got.Who != ana.ID || got.Name != "Ana" || got.What != "renamed a session" ||
		got.On != session || got.From != "192.0.2.7" {
		t.Errorf("the entry is %+v", got)
	}
	w.stop()
	if again := newWorld(t, t.TempDir()); len(again.list()) != 0 {
		t.Error("another directory has entries")
	}
}

// Actions that the host derives from a client's action have no entry.
func TestActionsOfTheHostHaveNoEntry(t *testing.T) {
	w := newWorld(t, t.TempDir())
	w.dispatch(t.Context(), session, &ahp.SessionIsReadChangedAction{IsRead: true}, func(tx *hub.Tx, _ ahp.State,
		a ahp.Action) (ahp.Action, string) {
		tx.Apply(session, &ahp.SessionTitleChangedAction{Title: "by the host"})
		return a, ""
	})
	if all := w.list(); len(all) != 0 {
		t.Errorf("there is %+v", all)
	}
}

// Terminal input has one entry per minute, holder and terminal, without the text.
func TestTypingIsWrittenDownOnceAMinute(t *testing.T) {
	w := newWorld(t, t.TempDir())
	keys := func() { w.dispatch(t.Context(), terminal, &ahp.TerminalInputAction{Data: "s3cret"}, accept) }
	keys()
	keys()
	w.now = w.now.Add(2 * time.Minute)
	keys()
	all := w.list()
	if len(all) != 2 || all[0].What != "typed in a terminal" || all[1].On != terminal {
		t.Errorf("the entries are %+v", all)
	}
}

// A form that carries an audited action has one entry, with the form's words and its handler's
// detail.
func TestFormAndItsActionShareAnEntry(t *testing.T) {
	w := newWorld(t, t.TempDir())
	ctx, call, err := w.log.BeginForm(t.Context(), ana, "POST /s/{session}/c/{chat}/tool", "/s/1/c/1/tool")
	must(t, err)
	audit.Detail(ctx, "allowed")
	o := w.dispatch(ctx, session, &ahp.SessionTitleChangedAction{Title: "new"}, accept)
	call.Done(ctx, nil)
	all := w.list()
	if len(all) != 1 || all[0].What != "answered an approval: allowed" || all[0].Seq != o.Env.Seq {
		t.Errorf("the entries are %+v", all)
	}
	ctx, call, err = w.log.BeginForm(t.Context(), ana, "POST /s/{session}/title", "/s/1/title")
	must(t, err)
	w.dispatch(ctx, session, &ahp.SessionTitleChangedAction{Title: "newer"}, accept)
	call.Done(ctx, nil)
	if all = w.list(); len(all) != 2 || all[1].What != "renamed a session" || all[1].Outcome != audit.Done {
		t.Errorf("the entries are %+v", all)
	}
}

func TestOutcomesOfCalls(t *testing.T) {
	w := newWorld(t, t.TempDir())
	for _, c := range []struct {
		name    string
		err     error
		nothing bool
		detail  string
		want    audit.Entry // zero: no entry
	}{
		{name: "done", want: audit.Entry{What: "revoked a link"}},
		{name: "done, with a detail", detail: "Ben's", want: audit.Entry{What: "revoked a link: Ben's"}},
		{name: "without anything to do", nothing: true},
		{name: "refused by the protocol", err: ahp.Errorf(ahp.CodePermissionDenied, "no")},
		{name: "refused by the table of rights", err: &access.Denied{}},
		{name: "refused otherwise", err: audit.Refusal(errors.New("the name is taken"))},
		{name: "failed on the way", err: errors.New("the disk"), want: audit.Entry{What: "revoked a link",
			Outcome: audit.Failed}},
	} {
		before := len(w.list())
		ctx, call, err := w.log.Begin(t.Context(), audit.Outside, audit.Entry{Who: "owner", What: "revoked a link"})
		must(t, err)
		if all := w.list(); len(all) != before+1 || all[before].Outcome != audit.UnderWay {
			t.Errorf("%s: before its end there is %+v", c.name, all[before:])
		}
		if audit.Detail(ctx, c.detail); c.nothing {
			audit.DidNothing(ctx)
		}
		call.Done(ctx, c.err)
		all := w.list()[before:]
		if c.want.What == "" {
			if len(all) != 0 {
				t.Errorf("%s: there is %+v", c.name, all)
			}
			continue
		}
		if len(all) != 1 || all[0].What != c.want.What || all[0].Outcome != c.want.Outcome {
			t.Errorf("%s: there is %+v", c.name, all)
		}
	}
}

// A program that stops between an intent and its outcome leaves an entry whose outcome is unknown.
func TestCrashLeavesOutcomeUnknown(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, dir)
	_, _, err := w.log.Begin(t.Context(), audit.Outside, audit.Entry{Who: "owner", What: "wrote a file",
		On: "file:///a"})
	must(t, err)
	w.stop()
	w = newWorld(t, dir)
	all := w.list()
	if len(all) != 1 || all[0].Outcome != audit.Unknown || all[0].On != "file:///a" {
		t.Errorf("the entries are %+v", all)
	}
}

// A call with effects outside of the timeline starts once its intent is durable, and not at all if
// that fails.
func TestIntentIsDurableBeforeTheEffect(t *testing.T) {
	h := hub.New(hub.Config{Journal: true, Boot: hub.Boot{Reserved: 1 << 20}})
	log := audit.New(audit.Config{Hub: h, Log: slog.New(slog.DiscardHandler)})
	begun := make(chan error, 1)
	go func() {
		_, _, err := log.Begin(context.Background(), audit.Outside, audit.Entry{What: "wrote a file"})
		begun <- err
	}()
	b, err := h.Unjournaled(t.Context()) // contains the intent, not yet durable
	must(t, err)
	select {
	case err := <-begun:
		t.Fatalf("it began before its intent was durable: %v", err)
	default:
	}
	h.Durable(b.Upto, 0)
	must(t, <-begun)
	h.JournalFailed(errors.New("the disk is full"))
	if _, _, err := log.Begin(t.Context(), audit.Outside, audit.Entry{What: "wrote a file"}); !errors.Is(err,
		hub.ErrReadOnly) {
		t.Errorf("on a full disk it begins: %v", err)
	}
}

func TestMethodsAreWrittenDown(t *testing.T) {
	w := newWorld(t, t.TempDir())
	call := func(who access.Principal, name string, params any, ended error) []audit.Entry {
		t.Helper()
		before := len(w.list())
		_, done, err := w.log.BeginMethod(t.Context(), who, name, params)
		must(t, err)
		done(ended)
		return w.list()[before:]
	}
	guest := access.Principal{ID: "guest:1", Role: access.RoleViewer}
	for _, c := range []struct {
		name string
		who  access.Principal
		call any
		err  error
		want string
	}{
		{name: "createSession", call: &ahp.CreateSessionParams{Channel: session},
			want: "created a session on ahp-session:/1"},
		{name: "createSession", call: &ahp.CreateSessionParams{Channel: session}, err: ahp.Errorf(ahp.CodeInvalidParams,
			"no")},
		{name: "createSession", call: &ahp.CreateSessionParams{Channel: session}, who: guest},
		{name: "resourceMove", call: &ahp.ResourceMoveParams{Source: "file:///a", Destination: "file:///b"},
			want: "moved a file: to file:///b on file:///a"},
		{name: "invokeChangesetOperation", call: &ahp.InvokeChangesetOperationParams{Channel: session,
			OperationID: "revert"}, want: "changed files: revert on ahp-session:/1"},
		{name: "listSessions", call: &ahp.ListSessionsParams{}},
		{name: "resourceWrite", call: &ahp.ResourceWriteParams{URI: "file:///c"}, want: "wrote a file on file:///c"},
		{name: "resourceWrite", call: &ahp.ResourceWriteParams{URI: "file:///c"}}, // within a minute
		{name: "resourceRequest", call: &ahp.ResourceRequestParams{URI: "file:///etc/hosts"},
			err:  ahp.Errorf(ahp.CodePermissionDenied, "the owner said no"),
			want: "asked for files (failed) on file:///etc/hosts"},
		{name: "resourceRequest", call: &ahp.ResourceRequestParams{URI: "file:///etc/hosts"},
			err: ahp.Errorf(ahp.CodePermissionDenied, "the owner said no")},
	} {
		who := c.who
		if who.ID == "" {
			who = ana
		}
		got := ""
		for _, e := range call(who, c.name, c.call, c.err) {
			got += strings.TrimSpace(e.What + " on " + e.On)
		}
		if got != c.want {
			t.Errorf("%s with %v by %s writes %q, want %q", c.name, c.err, who.ID, got, c.want)
		}
	}
}
