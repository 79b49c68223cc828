package terminal

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// eye is a viewer of a feed.
type eye struct {
	*Viewer
	shown   bytes.Buffer
	got     int64
	screens int
}

func (e *eye) next(t *testing.T, take bool) {
	t.Helper()
	if err := e.try(t.Context(), take); err != nil {
		t.Fatal(err)
	}
}

func (e *eye) try(ctx context.Context, take bool) error {
	p, err := e.Next(ctx)
	if err != nil {
		return err
	}
	if p.Screen {
		e.screens++
		e.shown.Reset()
	}
	e.shown.Write(p.Data)
	e.got += int64(len(p.Data))
	if take {
		e.Taken(e.got)
	}
	return nil
}

func TestViewerGetsAllOutput(t *testing.T) {
	f := fed("$ ", 10)
	v := &eye{Viewer: f.Watch()}
	defer v.Close()
	v.next(t, true)
	if !strings.Contains(v.shown.String(), "$") {
		t.Fatalf("the screen is %q", v.shown.String())
	}
	v.shown.Reset()
	var want strings.Builder
	for range 100 {
		text := strings.Repeat("0123456789abcde\n", 600)
		f.add(text, modes{})
		want.WriteString(text)
		for v.shown.Len() < want.Len() {
			v.next(t, true)
		}
	}
	if v.screens != 1 || v.shown.String() != want.String() {
		t.Errorf("%d screens; %d bytes of %d", v.screens, v.shown.Len(), want.Len())
	}
}

// A viewer that reads nothing gets little output, delays the program only briefly, and begins with
// the screen again.
func TestStalledViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(80, 24)
		slow := &eye{Viewer: f.Watch()}
		defer slow.Close()
		slow.next(t, true)
		begun := time.Now()
		for range 120 { // over 1 MB
			f.add(strings.Repeat("0123456789abcd\r\n", 640), modes{})
			f.pace()
		}
		if d := time.Since(begun); d > 300*time.Millisecond {
			t.Errorf("the program was held for %v", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for slow.try(ctx, false) == nil {
		}
		if slow.got > ViewerBytes {
			t.Errorf("%d bytes are under way", slow.got)
		}
		f.add("the end", modes{})
		slow.Taken(slow.got)
		for !strings.HasSuffix(slow.shown.String(), "the end") {
			slow.next(t, true)
		}
		if slow.screens < 2 {
			t.Error("it went on in the middle of what is gone")
		}
		f.close()
	})
}

// The program follows the pace of the fastest viewer, which misses nothing, whatever the others do.
func TestFastestViewerMissesNothing(t *testing.T) {
	f := newFeed(80, 24)
	defer f.close()
	fast, slow := &eye{Viewer: f.Watch()}, &eye{Viewer: f.Watch()}
	defer slow.Close()
	fast.next(t, true)
	slow.next(t, false)
	const n = 16 << 20
	text := strings.Repeat("0123456789abcd\r\n", 2048)
	go func() {
		for range n / len(text) {
			f.add(text, modes{})
			f.pace()
		}
	}()
	fast.shown.Reset()
	start := fast.got
	for fast.got-start < n {
		fast.next(t, true)
		fast.shown.Reset()
	}
	if fast.screens != 1 {
		t.Errorf("it was skipped ahead %d times", fast.screens-1)
	}
	fast.Close()
}

func TestClearEmptiesAllScreens(t *testing.T) {
	f := fed("old\r\n\x1b[?2004h", 100)
	defer f.close()
	v := &eye{Viewer: f.Watch()}
	defer v.Close()
	v.next(t, true)
	f.clear()
	v.next(t, true)
	if s := v.shown.String(); strings.Contains(s, "old") || !strings.Contains(s, "\x1b[?2004h") {
		t.Errorf("after clearing the screen is %q", s)
	}
	f.add("new", modes{})
	if got := f.Text(); got != "new" {
		t.Errorf("the screen reads %q", got)
	}
}

// Under overload the screen is the end of the output, in the right modes, immediately.
func TestScreenUnderOverload(t *testing.T) {
	s := &scanner{}
	f := newFeed(80, 24)
	defer f.close()
	s.write([]byte("main\x1b[?1049h\x1b[?25l\x1b[2;20r"))
	for i := range 120 {
		s.write([]byte(strings.Repeat("0123456789abcde\n", 600)))
		f.add(s.take(), s.modes)
		if i%40 == 0 {
			begun := time.Now()
			p := f.picture()
			if d := time.Since(begun); d > 2*time.Second {
				t.Errorf("a screen took %v", d)
			}
			if len(p.text) > ViewerBytes {
				t.Errorf("a screen of %d bytes", len(p.text))
			}
			if !bytes.Contains(p.text, []byte("\x1b[?1049h")) || !bytes.Contains(p.text, []byte("\x1b[?25l")) ||
				!bytes.Contains(p.text, []byte("\x1b[2;20r")) {
				t.Error("modes are lost")
			}
		}
	}
}

func TestResizeKeepsScreen(t *testing.T) {
	f := fed("one\r\ntwo\x1b[2;5r", 100)
	defer f.close()
	f.resize(100, 30)
	f.add("!", f.modes)
	if cols, rows := f.Size(); cols != 100 || rows != 30 {
		t.Errorf("the size is %d by %d", cols, rows)
	}
	p := f.picture()
	if p.cols != 100 || strings.Contains(string(p.text), "2;5r") || !strings.HasPrefix(p.plain, "!ne\ntwo") {
		t.Errorf("the picture is %q", p.text)
	}
	if got := Plain("a\x1b[31mb\x1b[m\r\nc\r\n\r\n", 80, 24); got != "ab\nc" {
		t.Errorf("plain text is %q", got)
	}
}

func BenchmarkEmulator(b *testing.B) {
	chunk := []byte(strings.Repeat("\x1b[32mok\x1b[0m  github.com/ahphub/ahphub/hub/terminal 0.512s\r\n", 500))
	e := newEmulator(80, 24)
	defer e.close()
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		e.write(chunk)
	}
}
