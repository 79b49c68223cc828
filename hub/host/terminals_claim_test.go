package host

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// quiet opens a terminal whose program says nothing, as a bubble can wait for no real one.
func (w *world) quiet(info hub.ChannelInfo, claim ahp.TerminalClaim) {
	w.t.Helper()
	t := &term{h: w.host, info: info}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	w.t.Cleanup(t.cancel)
	w.must(w.host.terms.add(t))
	w.must(w.host.openTerminal(t, claim, machine.TerminalSpec{Dir: "/", Cols: 80, Rows: 24}))
}

// pageOf is what a page of somebody says.
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
	for _, a := range w.host.TerminalAsks(uri) {
		name := a.By.Name
		if a.Denied {
			name += " (denied)"
		}
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

func typist(p access.Principal) access.Principal { p.Role, p.Type = access.RoleDriver, true; return p }

func TestTerminalsAreAskedFor(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create()
		info := hub.ChannelInfo{URI: term1, Kind: ahp.ChannelTerminal, Session: session}
		w.quiet(info, w.bySession())
		ana, dan, ben := pageOf(owner), pageOf(typist(driver)), pageOf(typist(commenter))
		for _, who := range []core.Caller{ana, dan, ben} {
			defer w.host.AttendTerminal(who, term1)(false)
		}
		changed, cancel := w.host.WatchTerminal(term1)
		defer cancel()
		told := func(what string) {
			t.Helper()
			select {
			case <-changed:
			default:
				t.Errorf("%s: nobody was told", what)
			}
		}
		if err := w.host.AskTerminal(pageOf(viewer), term1); code(err) != ahp.CodePermissionDenied {
			t.Errorf("a viewer asks: %v", err)
		}
		w.must(w.host.AskTerminal(dan, term1))
		if holderOf(w, term1) != dan.ClientID {
			t.Fatalf("a free terminal is held by %q", holderOf(w, term1))
		}
		told("a claim")
		w.must(w.host.AskTerminal(dan, term1)) // it is theirs already
		w.must(w.host.AskTerminal(ben, term1))
		told("an ask")
		if got := asking(w, term1); got != "Ben" || holderOf(w, term1) != dan.ClientID {
			t.Errorf("%q ask, held by %q", got, holderOf(w, term1))
		}
		if err := w.host.GrantTerminal(ben, term1, ben.ClientID); code(err) != ahp.CodePermissionDenied {
			t.Errorf("who asks grants it to himself: %v", err)
		}
		if err := w.host.GrantTerminal(dan, term1, "nobody"); code(err) != ahp.CodeNotFound {
			t.Errorf("granted to nobody: %v", err)
		}
		w.must(w.host.DenyTerminal(dan, term1, ben.ClientID))
		told("a refusal")
		if got := asking(w, term1); got != "Ben (denied)" {
			t.Errorf("after a refusal %q ask", got)
		}
		w.must(w.host.AskTerminal(ben, term1))
		w.must(w.host.WithdrawTerminal(ben, term1))
		if got := asking(w, term1); got != "" {
			t.Errorf("after withdrawing %q ask", got)
		}
		w.must(w.host.AskTerminal(ben, term1))
		w.must(w.host.GrantTerminal(dan, term1, ben.ClientID))
		if got := asking(w, term1); got != "" || holderOf(w, term1) != ben.ClientID {
			t.Errorf("after granting it is held by %q, and %q ask", holderOf(w, term1), got)
		}
		if err := w.host.TakeTerminal(dan, term1); code(err) != ahp.CodePermissionDenied {
			t.Errorf("a guest took it over: %v", err)
		}
		w.must(w.host.TakeTerminal(ana, term1))
		if holderOf(w, term1) != ana.ClientID {
			t.Errorf("after the owner took it, it is held by %q", holderOf(w, term1))
		}
		w.must(w.host.AskTerminal(ben, term1))
		time.Sleep(askExpiry + time.Second)
		if got := asking(w, term1); got != "" {
			t.Errorf("%q still ask", got)
		}
	})
}

// TestATitleOfAPerson: it wins over what the program says, and root lists it (AHP requirement 61).
func TestATitleOfAPerson(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create()
		w.quiet(hub.ChannelInfo{URI: term1, Kind: ahp.ChannelTerminal, Session: session}, w.bySession())
		program := w.host.terms.get(term1)
		program.emit([]ahp.Action{&ahp.TerminalTitleChangedAction{Title: "vim"}, &ahp.TerminalDataAction{Data: "text"}})
		if got := w.listed()[0].Title; got != "vim" {
			t.Errorf("root lists %q", got)
		}
		dan := pageOf(typist(driver))
		w.must(w.host.RenameTerminal(dan, term1, " my\n build "))
		program.emit([]ahp.Action{&ahp.TerminalTitleChangedAction{Title: "less"}})
		if got := w.listed()[0].Title; got != "my build" || w.terminal(term1).Title != got {
			t.Errorf("after a rename root lists %q", got)
		}
		w.must(w.host.ClearTerminal(dan, term1))
		if got := screenText(w.terminal(term1)); got != "" {
			t.Errorf("a cleared terminal shows %q", got)
		}
		for _, err := range []error{w.host.RenameTerminal(pageOf(viewer), term1, "x"), w.host.ClearTerminal(pageOf(viewer), term1)} {
			if code(err) != ahp.CodePermissionDenied {
				t.Errorf("a viewer: %v", err)
			}
		}
		if err := w.host.RenameTerminal(dan, term1, " "); code(err) != ahp.CodeInvalidParams {
			t.Errorf("no title: %v", err)
		}
	})
}

func TestOnlyTheHolderTypes(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		w.quiet(hub.ChannelInfo{URI: term1, Kind: ahp.ChannelTerminal, Session: session}, byClient("ana-1"))
		keys := &ahp.TerminalInputAction{Data: "x"}
		c.do(term1, keys)
		second := w.connect(owner, "ana-2")
		second.refused(term1, keys, "the keyboard is theirs")
		second.refused(term1, &ahp.TerminalResizedAction{Cols: 90, Rows: 30}, "another client")
		c.do(term1, &ahp.TerminalClaimedAction{Claim: w.bySession()})
		second.do(term1, keys) // nobody's in particular
	})
}

func TestTheKeyboardOfWhoLeaves(t *testing.T) {
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
			func(_ *world, _ *client, stream func(bool)) { stream(false) }, pageGrace},
		"took it by a form": {
			func(w *world, _ *client) core.Caller { return pageOf(typist(driver)) },
			func(w *world, _ *client, stream func(bool)) {
				stream(false)
				free := w.bySession()
				w.must(w.hub.Do(func(tx *hub.Tx) {
					tx.Apply(term1, &ahp.TerminalClaimedAction{Claim: free})
					tx.Apply(term1, claimedBy(core.PageClient(driver.ID)))
				}))
			}, formGrace},
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
					w.quiet(hub.ChannelInfo{URI: term1, Kind: ahp.ChannelTerminal, Session: session}, w.bySession())
					stream := w.host.AttendTerminal(who, term1)
					w.must(w.hub.Do(func(tx *hub.Tx) { tx.Apply(term1, claimedBy(who.ClientID)) }))
					time.Sleep(time.Hour)
					if holderOf(w, term1) != who.ClientID {
						t.Fatalf("taken from who is here")
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

func TestWhoComesBackKeepsTheKeyboard(t *testing.T) {
	inWorld(t, func(w *world) {
		w.create()
		dan, ben := pageOf(typist(driver)), pageOf(typist(commenter))
		w.quiet(hub.ChannelInfo{URI: term1, Kind: ahp.ChannelTerminal, Session: session}, w.bySession())
		leave := w.host.AttendTerminal(dan, term1)
		w.must(w.host.TakeTerminal(dan, term1))
		leave(false)
		leave = w.host.AttendTerminal(dan, term1) // a reload
		time.Sleep(time.Minute)
		synctest.Wait()
		if holderOf(w, term1) != dan.ClientID {
			t.Fatal("a reload cost the keyboard")
		}
		for _, away := range []time.Duration{pageGrace - time.Millisecond, pageGrace} {
			leave(true)
			time.Sleep(away)
			leave = w.host.AttendTerminal(dan, term1)
			synctest.Wait()
			if back := holderOf(w, term1) == dan.ClientID; back != (away < pageGrace) {
				t.Errorf("after %v away it is held by %q", away, holderOf(w, term1))
			}
		}
		w.must(w.host.TakeTerminal(dan, term1))
		leave(true)
		time.Sleep(time.Millisecond)
		w.must(w.host.TakeTerminal(ben, term1))
		leave = w.host.AttendTerminal(dan, term1)
		synctest.Wait()
		if holderOf(w, term1) != ben.ClientID {
			t.Errorf("who is back took it from %q", ben.ClientID)
		}
		w.must(w.hub.Do(func(tx *hub.Tx) { tx.Apply(term1, claimedBy(dan.ClientID)) }))
		defer w.host.AttendTerminal(ben, term1)(false)
		w.must(w.host.AskTerminal(ben, term1))
		leave(false)
		time.Sleep(pageGrace + time.Second)
		synctest.Wait()
		if holderOf(w, term1) != ben.ClientID {
			t.Errorf("held by %q, not by who waits for it", holderOf(w, term1))
		}
		c := w.connect(owner, "ana-3")
		w.must(w.host.TakeTerminal(c.caller, term1))
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

func TestTheCommandsOfATerminal(t *testing.T) { // AHP requirement 168
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	w, c := shellWorld(t, Config{}, hub.Config{})
	t.Setenv("SHELL", bash)
	t.Setenv("HOME", t.TempDir())
	w.must(w.host.CreateTerminal(t.Context(), c.caller, ahp.CreateTerminalParams{Channel: term1, Claim: w.bySession()}))
	changed, cancel := w.host.WatchTerminal(term1)
	defer cancel()
	c.send(term1, &ahp.TerminalInputAction{Data: "printf 'a\\033[31mb\\n'; (exit 4)\r"})
	over := func() bool {
		all := w.host.TerminalCommands(term1)
		return len(all) > 0 && !all[0].IsRunning()
	}
	for deadline := time.After(20 * time.Second); !over(); {
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("commands %+v", w.host.TerminalCommands(term1))
		}
	}
	first := w.host.TerminalCommands(term1)[0]
	if first.Line != `printf 'a\033[31mb\n'; (exit 4)` || *first.ExitCode != 4 || first.Duration == nil {
		t.Errorf("the command is %+v", first)
	}
	if out, ok := w.host.CommandOutput(t.Context(), term1, first.ID); out.Text != "ab\n" || out.Cut || !ok {
		t.Errorf("its output is %+v, known %v", out, ok)
	}
	eventually(t, "the end of the command for clients", func() bool {
		parts := w.host.commandParts(term1)
		return len(parts) > 0 && parts[0].IsComplete
	})
	w.host.terms.remove(term1).kill() // from here on it is one of an earlier run
	if again := w.host.TerminalCommands(term1); len(again) != 1 || again[0].Line != first.Line || *again[0].ExitCode != 4 || again[0].IsRunning() {
		t.Errorf("of an earlier run: %+v", again)
	}
	if out, ok := w.host.CommandOutput(t.Context(), term1, first.ID); out.Text != "ab\n" || !ok {
		t.Errorf("its output in an earlier run is %+v", out)
	}
	if _, ok := w.host.CommandOutput(t.Context(), term1, "c99"); ok {
		t.Error("a command that never was is known")
	}
}
