package terminal

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// pumped runs an output in a synctest bubble until its chunks end.
func pumped(t *testing.T, feed func(chan<- []byte), emit func([]ahp.Action)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := output{dec: newDecoder(detectAny, "", "", time.Now), backlog: backlog{limit: DefaultScrollback},
			emit: emit, cleared: new(atomic.Bool)}
		chunks := make(chan []byte)
		go func() { defer close(chunks); feed(chunks) }()
		o.pump(chunks, nil)
		o.finish(0)
	})
}

func TestMergeOutputOfOneStep(t *testing.T) {
	var got []string
	pumped(t, func(c chan<- []byte) {
		for range 5 {
			c <- []byte("a")
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond)
		c <- []byte("b")
		time.Sleep(20 * time.Millisecond)
	}, func(a []ahp.Action) {
		if d, ok := a[0].(*ahp.TerminalDataAction); ok {
			got = append(got, d.Data)
		}
	})
	if strings.Join(got, "|") != "aaaaa|b" {
		t.Errorf("got %q", got)
	}
}

func TestTitlesAreThrottled(t *testing.T) {
	var got []string
	pumped(t, func(c chan<- []byte) {
		for i := range 1000 {
			c <- fmt.Appendf(nil, "\x1b]0;title %d\a", i)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		c <- []byte("\x1b]0;then\a")
		c <- []byte("\x1b]0;last\a")
	}, func(all []ahp.Action) {
		for _, a := range all {
			if t, ok := a.(*ahp.TerminalTitleChangedAction); ok {
				got = append(got, t.Title)
			}
		}
	})
	// Whether "then" is emitted depends on whether "last" had already arrived.
	if n := len(got); n > 6 || got[0] != "title 0" || !slices.Contains(got, "title 999") || got[n-1] != "last" {
		t.Errorf("told %q", got)
	}
}

func TestFastProgramIsPaced(t *testing.T) {
	var steps []int
	var all []ahp.Action
	chunk := []byte(strings.Repeat("0123456789abcde\n", mergeBytes/16))
	begun, wrote := time.Time{}, time.Duration(0)
	pumped(t, func(c chan<- []byte) {
		begun = time.Now()
		for i := range 3200 { // 100 MiB, a MiB a millisecond
			if i == 100 {
				c <- []byte("\x1b]0;kept\a\x1b]133;A\a\x1b[?1049h")
			}
			c <- chunk
			if i%32 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		wrote = time.Since(begun)
	}, func(a []ahp.Action) {
		n := 0
		for _, a := range a {
			if d, ok := a.(*ahp.TerminalDataAction); ok {
				n += len(d.Data)
			}
		}
		steps = append(steps, n)
		all = append(all, a...)
	})
	if wrote > 200*time.Millisecond {
		t.Errorf("the program needed %v", wrote)
	}
	total := 0
	for _, n := range steps {
		total += n
		if n > DefaultScrollback {
			t.Errorf("one step of %d bytes", n)
		}
	}
	if total > 2<<20 {
		t.Errorf("%d bytes were sent within %v", total, wrote)
	}
	out := lines(all)
	if !strings.Contains(out, `titleChanged {"title":"kept"}`) || strings.Count(out, "commandDetectionAvailable") != 1 {
		t.Error("what outlives a clear was dropped with it")
	}
	if text, _ := content(all); !strings.HasPrefix(text, "\x1b[?1049h0123456789") {
		t.Errorf("the alternate screen was lost: %.30q", text)
	}
}
