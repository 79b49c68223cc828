package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// content returns the text of a client's terminal state.
func content(actions []ahp.Action) (text string, parts int) {
	var b strings.Builder
	for _, a := range actions {
		switch a := a.(type) {
		case *ahp.TerminalClearedAction:
			b.Reset()
			parts = 0
		case *ahp.TerminalDataAction:
			b.WriteString(a.Data)
		case *ahp.TerminalCommandExecutedAction:
			parts++
		}
	}
	return b.String(), parts
}

// add accounts for actions and returns them, followed by those of a trim.
func (b *backlog) add(actions []ahp.Action) []ahp.Action {
	for _, a := range actions {
		b.note(a)
	}
	if b.isFull() {
		actions = append(actions, b.trim("")...)
	}
	return actions
}

func TestBacklogKeepsWholeLinesOfTheTail(t *testing.T) {
	b := backlog{limit: 1000}
	var all []ahp.Action
	for i := range 500 {
		all = append(all, b.add([]ahp.Action{&ahp.TerminalDataAction{Data: fmt.Sprintf("line %d\n", i)}})...)
		if text, _ := content(all); len(text) > 1000 {
			t.Fatalf("%d bytes of content past a limit of 1000", len(text))
		}
	}
	text, _ := content(all)
	if !strings.HasPrefix(text, "line ") || !strings.HasSuffix(text, "line 499\n") {
		t.Errorf("the tail is not whole lines: %.20q … %q", text, text[len(text)-20:])
	}
}

func TestTrimKeepsModes(t *testing.T) {
	var m modes
	for _, seq := range []string{"\x1b[?1049h", "\x1b[?25l", "\x1b[?1;2004h", "\x1b[?2004l", "\x1b[?9999h", "\x1b[4h",
		"\x1b[?x1h"} {
		m.note([]byte(seq))
	}
	if got, want := m.String(), "\x1b[?1049h\x1b[?25l\x1b[?1h"; got != want {
		t.Fatalf("modes %q, want %q", got, want)
	}
	b := backlog{limit: 1000}
	b.note(&ahp.TerminalDataAction{Data: strings.Repeat("0123456789\n", 100)})
	if text, _ := content(b.trim(m.String())); !strings.HasPrefix(text, m.String()+"0123456789\n") || len(text) > 1000 {
		t.Errorf("after a trim: %q", text)
	}
}

func TestBacklogCutsLongLineAtCharacter(t *testing.T) {
	b := backlog{limit: 1000}
	var all []ahp.Action
	for range 100 {
		all = append(all, b.add([]ahp.Action{&ahp.TerminalDataAction{Data: strings.Repeat("€", 11)}})...)
	}
	if text, _ := content(all); strings.Trim(text, "€") != "" || len(text) > 1000 {
		t.Errorf("broken characters in %q", text)
	}
}

func TestBacklogRestartsRunningCommand(t *testing.T) {
	b := backlog{limit: 10000}
	all := b.add([]ahp.Action{
		&ahp.TerminalDataAction{Data: strings.Repeat("before\n", 1000)},
		&ahp.TerminalCommandExecutedAction{CommandID: "c1", CommandLine: "yes"},
		&ahp.TerminalDataAction{Data: strings.Repeat("y\n", 2000)},
	})
	tail := all[3:]
	if _, ok := tail[0].(*ahp.TerminalClearedAction); !ok {
		t.Fatalf("no trim: %s", lines(tail))
	}
	if got := tail[1].(*ahp.TerminalDataAction).Data; !strings.HasPrefix(got, "before\n") {
		t.Errorf("text before the command: %.20q", got)
	}
	if got := tail[2].(*ahp.TerminalCommandExecutedAction).CommandID; got != "c1" {
		t.Errorf("the command begun anew is %q", got)
	}
	if got := tail[3].(*ahp.TerminalDataAction).Data; got != strings.Repeat("y\n", 2000) {
		t.Errorf("the command's output is %d bytes, want 4000", len(got))
	}
}

func TestBacklogBoundsEmptyCommands(t *testing.T) {
	b := backlog{limit: 10000}
	var all []ahp.Action
	for i := range 1000 {
		all = append(all, b.add([]ahp.Action{
			&ahp.TerminalCommandExecutedAction{CommandID: fmt.Sprint(i)},
			&ahp.TerminalCommandFinishedAction{CommandID: fmt.Sprint(i)},
		})...)
	}
	if _, parts := content(all); parts > 100 {
		t.Errorf("%d command parts in a content bounded to 10000 bytes", parts)
	}
}
