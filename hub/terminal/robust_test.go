package terminal

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestDefuseForkBomb(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are not counted here")
	}
	s := newScreen()
	p := start(t, Spec{Command: sh(`read go
		i=0; while [ $i -lt 300 ]; do sleep 1000 & i=$((i+1)); done
		echo survi$((1))ved; read x`), Processes: 40}, s)
	if err := p.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	s.waitText(t, "more than 40 processes")
	s.waitText(t, "survi1ved") // its first process continues
	s.wait(t, "the others' end", func() bool { return len(p.members()) <= 300-40 })
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	finish(t, p)
	if left := p.members(); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func TestProgramClosesItsTerminal(t *testing.T) {
	s := newScreen()
	p := start(t, Spec{Command: sh(`echo bye; trap '' HUP; exec <&- >&- 2>&-; sleep 1000`),
		Grace: 50 * time.Millisecond}, s)
	s.waitText(t, "bye")
	_ = p.Write([]byte("is anybody there\n"))
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if code := finish(t, p); code < 128 {
		t.Errorf("exit code %d of a program that was killed", code)
	}
}

func TestEndOfInput(t *testing.T) {
	s := newScreen()
	p := start(t, Spec{Command: []string{"cat"}}, s)
	if err := p.Write([]byte("one\n\x04")); err != nil {
		t.Fatal(err)
	}
	if code := finish(t, p); code != 0 || strings.Count(s.text(), "one") != 2 {
		t.Errorf("exit code %d, output %q", code, s.text())
	}
}

func TestHundredTerminals(t *testing.T) {
	const n = 100
	var all [n]*Process
	var screens [n]*screen
	for i := range all {
		screens[i] = newScreen()
		all[i] = start(t, Spec{Command: sh(`read x; echo "got $x"`)}, screens[i])
	}
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() {
			if err := p.Write(fmt.Appendf(nil, "word%d\n", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, p := range all {
		if code := finish(t, p); code != 0 || !strings.Contains(screens[i].text(), fmt.Sprintf("got word%d\r\n", i)) {
			t.Errorf("terminal %d: exit code %d, output %q", i, code, screens[i].text())
		}
	}
}

func TestResizeStorm(t *testing.T) {
	s := newScreen()
	p := start(t, Spec{Command: []string{"bash", "-c",
		`trap 'echo "size $(stty size)"' WINCH; echo ready; while :; do read -t 0.05 x; done`}}, s)
	s.waitText(t, "ready")
	begun := time.Now()
	for i := range 2000 {
		if err := p.Resize(80+i%100, 24+i%10); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Resize(123, 45); err != nil {
		t.Fatal(err)
	}
	most := int(time.Since(begun)/sizeEvery) + 2
	s.waitText(t, "size 45 123")
	if told := strings.Count(s.text(), "size "); told > most {
		t.Errorf("the program was told %d sizes, at most %d are due", told, most)
	}
	if cols, rows := p.Feed().Size(); cols != 123 || rows != 45 {
		t.Errorf("the screen is %d by %d", cols, rows)
	}
}

// TestColourAtSpeed prints coloured lines as fast as possible, with and without a viewer.
func TestColourAtSpeed(t *testing.T) {
	s := newScreen()
	p := start(t, Spec{Command: sh(`read x; awk 'BEGIN { for (i = 0; i < 10000; i++) printf "\033[38;5;%dmline %d\033[m of \033[1;4mmany\033[m\n", i % 256, i }'`)}, s)
	v := &eye{Viewer: p.Feed().Watch()}
	defer v.Close()
	v.next(t, true)
	if err := p.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(v.shown.String(), "line 9999") {
		v.next(t, true)
	}
	if v.screens != 1 {
		t.Errorf("who takes everything was skipped ahead %d times", v.screens-1)
	}
	if got := strings.Count(v.shown.String(), "\x1b[1;4mmany\x1b[m"); got != 10000 {
		t.Errorf("%d lines came", got)
	}
	finish(t, p)
	if got := p.Feed().Text(); !strings.HasSuffix(got, "line 9998 of many\nline 9999 of many") {
		t.Errorf("the screen reads %q", got[max(0, len(got)-100):])
	}
	for _, a := range s.all() {
		if d, ok := a.(*ahp.TerminalDataAction); ok && len(d.Data) > DefaultScrollback {
			t.Errorf("one action of %d bytes", len(d.Data))
		}
	}
}
