package host

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/terminals"
)

// quiet opens a terminal of a session with a program without output, as bubbles cannot wait for
// real ones, and returns the program. A terminal without a session belongs to a client.
func (w *world) quiet(session ahp.URI) *quietProgram {
	w.t.Helper()
	c, claim := core.Caller{Principal: owner, ClientID: "maker"}, byClient("maker")
	if session != "" {
		claim = w.bySession()
	}
	quiet := &quietProgram{done: make(chan struct{})}
	w.machine.next = quiet
	w.must(w.host.Terminals.Create(w.t.Context(), c, ahp.CreateTerminalParams{Channel: term1, Claim: claim}))
	return quiet
}

// claimFor returns the action that gives a client control.
func claimFor(client string) *ahp.TerminalClaimedAction {
	return &ahp.TerminalClaimedAction{Claim: byClient(client)}
}

// pageOf returns the caller of a page of p.
func pageOf(p access.Principal) core.Caller {
	return core.Caller{Principal: p, ClientID: core.PageClient(p.ID)}
}

func holderOf(w *world, uri ahp.URI) string {
	switch c := w.terminal(uri).Claim.Value.(type) {
	case *ahp.TerminalClientClaim:
		return c.ClientID
	case *ahp.TerminalSessionClaim:
		return "session"
	}
	return ""
}

func asking(w *world, uri ahp.URI) string {
	var out []string
	for _, a := range w.host.Terminals.Asks(uri) {
		name := a.By.Name
		if a.Denied {
			name += " (denied)"
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

func typist(p access.Principal) access.Principal { p.Role, p.Type = access.RoleDriver, true; return p }

func TestAskForTerminal(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create()
		w.quiet(session)
		ana, dan, ben := pageOf(owner), pageOf(typist(driver)), pageOf(typist(commenter))
		for _, who := range []core.Caller{ana, dan, ben} {
			defer w.host.Terminals.Attend(who, term1)(false)
		}
		changed, cancel := w.host.Terminals.Changes(term1)
		defer cancel()
		told := func(what string) {
			t.Helper()
			select {
			case <-changed:
			default:
				t.Errorf("%s: no watcher was woken", what)
			}
		}
		if err := w.host.Terminals.Ask(pageOf(viewer), term1); code(err) != ahp.CodePermissionDenied {
			t.Errorf("a viewer asks: %v", err)
		}
		w.must(w.host.Terminals.Ask(dan, term1))
		if holderOf(w, term1) != dan.ClientID {
			t.Fatalf("a free terminal is held by %q", holderOf(w, term1))
		}
		told("a claim")
		w.must(w.host.Terminals.Ask(dan, term1)) // Dan already holds it
		w.must(w.host.Terminals.Ask(ben, term1))
		told("an ask")
		if got := asking(w, term1); got != "Ben" || holderOf(w, term1) != dan.ClientID {
			t.Errorf("%q ask, held by %q", got, holderOf(w, term1))
		}
		if err := w.host.Terminals.Grant(ben, term1, ben.ClientID); code(err) != ahp.CodePermissionDenied {
			t.Errorf("who asks grants it to himself: %v", err)
		}
		if err := w.host.Terminals.Grant(dan, term1, "nobody"); code(err) != ahp.CodeNotFound {
			t.Errorf("granted to a client that does not ask: %v", err)
		}
		w.must(w.host.Terminals.Deny(dan, term1, ben.ClientID))
		told("a refusal")
		if got := asking(w, term1); got != "Ben (denied)" {
			t.Errorf("after a refusal %q ask", got)
		}
		w.must(w.host.Terminals.Ask(ben, term1))
		w.must(w.host.Terminals.Withdraw(ben, term1))
		if got := asking(w, term1); got != "" {
			t.Errorf("after withdrawing %q ask", got)
		}
		w.must(w.host.Terminals.Ask(ben, term1))
		w.must(w.host.Terminals.Grant(dan, term1, ben.ClientID))
		if got := asking(w, term1); got != "" || holderOf(w, term1) != ben.ClientID {
			t.Errorf("after granting it is held by %q, and %q ask", holderOf(w, term1), got)
		}
		if err := w.host.Terminals.Take(dan, term1); code(err) != ahp.CodePermissionDenied {
			t.Errorf("a guest took it over: %v", err)
		}
		w.must(w.host.Terminals.Take(ana, term1))
		if holderOf(w, term1) != ana.ClientID {
			t.Errorf("after the owner took it, it is held by %q", holderOf(w, term1))
		}
		w.must(w.host.Terminals.Ask(ben, term1))
		time.Sleep(terminals.AskExpiry + time.Second)
		if got := asking(w, term1); got != "" {
			t.Errorf("%q still ask", got)
		}
	})
}

// A title that a person chose overrides the program's, and root lists it (AHP requirement 61).
func TestPersonsTitleWins(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create()
		program := w.quiet(session)
		program.emit([]ahp.Action{&ahp.TerminalTitleChangedAction{Title: "vim"}, &ahp.TerminalDataAction{Data: "text"}})
		if got := w.listed()[0].Title; got != "vim" {
			t.Errorf("root lists %q", got)
		}
		dan := pageOf(typist(driver))
		w.must(w.host.Terminals.Rename(dan, term1, " my\n build "))
		program.emit([]ahp.Action{&ahp.TerminalTitleChangedAction{Title: "less"}})
		if got := w.listed()[0].Title; got != "my build" || w.terminal(term1).Title != got {
			t.Errorf("after a rename root lists %q", got)
		}
		w.must(w.host.Terminals.Clear(dan, term1))
		if got := screenText(w.terminal(term1)); got != "" {
			t.Errorf("a cleared terminal shows %q", got)
		}
		for _, err := range []error{w.host.Terminals.Rename(pageOf(viewer), term1, "x"),
			w.host.Terminals.Clear(pageOf(viewer), term1)} {
			if code(err) != ahp.CodePermissionDenied {
				t.Errorf("a viewer: %v", err)
			}
		}
		if err := w.host.Terminals.Rename(dan, term1, " "); code(err) != ahp.CodeInvalidParams {
			t.Errorf("no title: %v", err)
		}
	})
}

func TestOnlyTheHolderTypes(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		w.quiet(session)
		c.do(term1, claimFor("ana-1"))
		keys := &ahp.TerminalInputAction{Data: "x"}
		c.do(term1, keys)
		second := w.connect(owner, "ana-2")
		second.refused(term1, keys, "Request control first")
		second.refused(term1, &ahp.TerminalResizedAction{Cols: 90, Rows: 30}, "another client")
		c.do(term1, &ahp.TerminalClaimedAction{Claim: w.bySession()})
		second.do(term1, keys) // no client holds it
	})
}

func TestKeyboardIsFreedWhenItsHolderLeaves(t *testing.T) {
	tests := map[string]struct {
		holder func(*world, *client) core.Caller
		leave  func(w *world, c *client, stream func(goodbye bool))
		grace  time.Duration
	}{
		"closes the page": {
			func(w *world, _ *client) core.Caller { return pageOf(typist(driver)) },
			func(_ *world, _ *client, stream func(bool)) { stream(true) }, 0},
		"loses the line": {
			func(w *world, _ *client) core.Caller { return pageOf(typist(driver)) },
			func(_ *world, _ *client, stream func(bool)) { stream(false) }, terminals.PageGrace},
		"took it by a form": {
			func(w *world, _ *client) core.Caller { return pageOf(typist(driver)) },
			func(w *world, _ *client, stream func(bool)) {
				stream(false)
				free := w.bySession()
				w.must(w.hub.Do(func(tx *hub.Tx) {
					tx.Apply(term1, &ahp.TerminalClaimedAction{Claim: free})
					tx.Apply(term1, claimFor(core.PageClient(driver.ID)))
				}))
			}, terminals.FormGrace},
		"vanishes": {
			func(w *world, c *client) core.Caller { return c.caller },
			func(w *world, c *client, _ func(bool)) {
				c.caller.Conn.Close(errors.New("gone"))
				w.host.Disconnected(c.caller)
			}, 30 * time.Second},
	}
	for name, tc := range tests {
		for _, session := range []ahp.URI{session, ""} {
			t.Run(name+" "+session, func(t *testing.T) {
				inWorld(t, func(w *world) {
					w.create()
					c := w.connect(owner, "ana-3")
					who := tc.holder(w, c)
					w.quiet(session)
					stream := w.host.Terminals.Attend(who, term1)
					w.must(w.hub.Do(func(tx *hub.Tx) { tx.Apply(term1, claimFor(who.ClientID)) }))
					time.Sleep(time.Hour)
					if holderOf(w, term1) != who.ClientID {
						t.Fatalf("taken from a holder that is here")
					}
					tc.leave(w, c, stream)
					if tc.grace > 0 {
						time.Sleep(tc.grace - time.Millisecond)
						synctest.Wait()
						if holderOf(w, term1) != who.ClientID {
							t.Errorf("taken before its time: %q", holderOf(w, term1))
						}
					}
					time.Sleep(time.Millisecond)
					synctest.Wait()
					if session != "" && holderOf(w, term1) != "session" {
						t.Errorf("still held by %q", holderOf(w, term1))
					}
					next := w.connect(owner, "ana-4")
					next.do(term1, &ahp.TerminalInputAction{Data: "x"})
					next.do(term1, &ahp.TerminalClaimedAction{Claim: byClient("ana-4")})
				})
			})
		}
	}
}

func TestReturningHolderKeepsTheKeyboard(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create()
		dan, ben := pageOf(typist(driver)), pageOf(typist(commenter))
		w.quiet(session)
		leave := w.host.Terminals.Attend(dan, term1)
		w.must(w.host.Terminals.Take(dan, term1))
		leave(false)
		leave = w.host.Terminals.Attend(dan, term1) // a reload
		time.Sleep(time.Minute)
		synctest.Wait()
		if holderOf(w, term1) != dan.ClientID {
			t.Fatal("a reload cost the keyboard")
		}
		for _, away := range []time.Duration{terminals.PageGrace - time.Millisecond, terminals.PageGrace} {
			leave(true)
			time.Sleep(away)
			leave = w.host.Terminals.Attend(dan, term1)
			synctest.Wait()
			if back := holderOf(w, term1) == dan.ClientID; back != (away < terminals.PageGrace) {
				t.Errorf("after %v away it is held by %q", away, holderOf(w, term1))
			}
		}
		w.must(w.host.Terminals.Take(dan, term1))
		leave(true)
		time.Sleep(time.Millisecond)
		w.must(w.host.Terminals.Take(ben, term1))
		leave = w.host.Terminals.Attend(dan, term1)
		synctest.Wait()
		if holderOf(w, term1) != ben.ClientID {
			t.Errorf("the returning holder took it from %q", ben.ClientID)
		}
		w.must(w.hub.Do(func(tx *hub.Tx) { tx.Apply(term1, claimFor(dan.ClientID)) }))
		defer w.host.Terminals.Attend(ben, term1)(false)
		w.must(w.host.Terminals.Ask(ben, term1))
		leave(false)
		time.Sleep(terminals.PageGrace + time.Second)
		synctest.Wait()
		if holderOf(w, term1) != ben.ClientID {
			t.Errorf("held by %q, not by who waits for it", holderOf(w, term1))
		}
		c := w.connect(owner, "ana-3")
		w.must(w.host.Terminals.Take(c.caller, term1))
		c.caller.Conn.Close(errors.New("gone"))
		w.host.Disconnected(c.caller)
		time.Sleep(10 * time.Second)
		w.connect(owner, "ana-3")
		time.Sleep(time.Minute)
		synctest.Wait()
		if holderOf(w, term1) != "ana-3" {
			t.Errorf("a client that came back lost it to %q", holderOf(w, term1))
		}
	})
}
