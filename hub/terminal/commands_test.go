package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestCommandOffsets(t *testing.T) {
	f := newFeed(80, 24)
	defer f.close()
	d := newDecoder(detectNonce, "n", "", fixedClock)
	d.show, d.note = f.add, f.command
	v := f.Watch()
	defer v.Close()
	d.write([]byte("$ \x1b]633;E;first;n\a\x1b]633;C;n\aout 1\r\n\x1b]633;D;3;n\a$ " +
		"\x1b]633;C;?;n\a\x1b]633;E;second;n\aout 2"))
	all := f.Commands()
	if len(all) != 2 || all[0].Line != "first" || *all[0].ExitCode != 3 || all[0].Duration == nil ||
		all[0].IsRunning() ||
		!all[1].IsRunning() || all[1].Line != "second" {
		t.Fatalf("commands %+v", all)
	}
	for i, want := range []string{"out 1\r\n", "out 2"} {
		raw, cut, ok := f.Output(all[i].ID, 100)
		if string(raw) != want || cut || !ok {
			t.Errorf("output of %s: %q, cut %v", all[i].Line, raw, cut)
		}
	}
	p, err := v.Next(t.Context())
	if err != nil || p.At != f.end {
		t.Errorf("the screen is at %d of %d: %v", p.At, f.end, err)
	}
	at := f.end
	d.write([]byte("more"))
	if p, err = v.Next(t.Context()); err != nil || p.At != at || string(p.Data) != "more" {
		t.Errorf("a piece %q at %d, not %d: %v", p.Data, p.At, at, err)
	}
	for range 200 {
		d.write([]byte(strings.Repeat("0123456789abcde\n", 512)))
	}
	if raw, cut, _ := f.Output("c2", 1000); len(raw) != 1000 || !cut || !strings.HasSuffix(string(raw), "abcde\n") {
		t.Errorf("the end of the output: %d bytes, cut %v", len(raw), cut)
	}
	if raw, cut, ok := f.Output("c1", 1000); len(raw) > 0 || !cut || !ok {
		t.Errorf("output that is gone: %q, cut %v", raw, cut)
	}
	f.clear()
	if got := f.Commands(); len(got) != 1 || !got[0].IsRunning() {
		t.Errorf("after clearing: %+v", got)
	}
}

func TestCommandsAreBounded(t *testing.T) {
	f := newFeed(80, 24)
	for i := range mostCommands + 10 {
		f.command(&ahp.TerminalCommandExecutedAction{CommandID: fmt.Sprint(i)})
	}
	if all := f.Commands(); len(all) != mostCommands || all[0].ID != "10" {
		t.Errorf("%d commands from %s", len(all), all[0].ID)
	}
}
