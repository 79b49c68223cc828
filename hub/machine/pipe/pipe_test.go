package pipe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect returns both ends of a connection, until the test ends.
func connect(t testing.TB, hub, computer map[string]Handler) (near, far *Peer) {
	t.Helper()
	a, b := net.Pipe()
	log := slog.New(slog.DiscardHandler)
	near, err := New(a, Config{Handlers: hub, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	far, err = New(b, Config{Dialed: true, Handlers: computer, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, p := range []*Peer{near, far} {
		wg.Go(func() { _ = p.Run(context.Background()) })
	}
	t.Cleanup(func() { near.Close(); far.Close(); wg.Wait() })
	return near, far
}

// Errors keep their identity and their text.
func TestErrorsKeepTheirIdentity(t *testing.T) {
	outside := &machine.OutsideError{Outside: machine.Outside{By: "/w/.git", Path: "/secret"}}
	for _, err := range []error{
		machine.ErrConflict, machine.ErrStale, machine.ErrNoContent, machine.ErrTooLarge, machine.ErrOffline,
		agent.ErrDetached,
		context.Canceled, fs.ErrNotExist, fmt.Errorf("%w: a.txt is in the way", machine.ErrConflict),
		&ahp.Error{Code: ahp.CodeNotFound, Message: "no file"}, outside, &machine.SpecialFileError{Path: "/p",
			Kind: "a pipe"},
		&machine.SlowError{Dir: "/d", Limit: time.Second}, &machine.RefusedError{Output: "no"},
		&agent.Failure{Message: "no login", Resumable: true}, errors.Join(errors.New("a"), outside),
	} {
		near, _ := connect(t, nil,
			map[string]Handler{"fail": AnswerNone(func(context.Context, struct{}) error { return err })})
		got := CallNone(t.Context(), near, "fail", struct{}{})
		if got == nil || got.Error() != err.Error() {
			t.Errorf("%q becomes %q", err, got)
			continue
		}
		for _, s := range sentinels {
			if errors.Is(err, s.err) != errors.Is(got, s.err) {
				t.Errorf("%q: errors.Is differs for %v", err, s.err)
			}
		}
		for _, kind := range typed {
			if a, b := fmt.Sprint(kind.as(err)), fmt.Sprint(kind.as(got)); a != b {
				t.Errorf("%q: as %s it is %s, and becomes %s", err, kind.name, a, b)
			}
		}
	}
}

// A cancelled call also ends on the other side.
func TestCancellationCrosses(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	near, _ := connect(t, nil, map[string]Handler{"wait": AnswerNone(func(ctx context.Context, _ struct{}) error {
		close(begun)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if err := CallNone(ctx, near, "wait", struct{}{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller gets %v", err)
	}
	<-ended
}

// A call on a lost connection fails with that reason, not as cancelled.
func TestCallOfALostConnection(t *testing.T) {
	for _, lost := range []func(near, far *Peer){
		func(near, _ *Peer) { near.Close() },
		func(_, far *Peer) { far.Close() },
	} {
		for range 20 {
			begun := make(chan struct{})
			near, far := connect(t, nil, map[string]Handler{"wait": AnswerNone(func(ctx context.Context, _ struct{}) error {
				close(begun)
				<-ctx.Done()
				return ctx.Err()
			})})
			go func() { <-begun; lost(near, far) }()
			if err := CallNone(t.Context(), near, "wait", struct{}{}); !errors.Is(err, ErrClosed) || errors.Is(err, context.Canceled) {
				t.Fatalf("the caller gets %v", err)
			}
		}
	}
}

// A panic of a handler ends only its call, and its text is not revealed.
func TestFaultEndsOneCall(t *testing.T) {
	near, _ := connect(t, nil, map[string]Handler{
		"fault": AnswerNone(func(context.Context, struct{}) error { panic("secret") }),
		"fine":  AnswerNone(func(context.Context, struct{}) error { return nil }),
	})
	if err := CallNone(t.Context(), near, "fault", struct{}{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the caller is told %v", err)
	}
	if err := CallNone(t.Context(), near, "fine", struct{}{}); err != nil {
		t.Error(err)
	}
	if err := CallNone(t.Context(), near, "none", struct{}{}); err == nil {
		t.Error("a method that does not exist answers")
	}
}

// An unread stream does not block others.
func TestSlowStreamSlowsItselfOnly(t *testing.T) {
	near, _ := connect(t, nil, map[string]Handler{
		"flood": func(_ context.Context, s *Stream) error {
			for piece := make([]byte, 32<<10); ; {
				if err := s.Send(piece); err != nil {
					return err
				}
			}
		},
		"fine": AnswerNone(func(context.Context, struct{}) error { return nil }),
	})
	s, err := near.Open(t.Context(), "flood")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 100 {
		if err := CallNone(t.Context(), near, "fine", struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
}

// Hostile letters cannot exceed the window, skip a number, or acknowledge letters that were never sent.
func TestConduitRefusesHostileLetters(t *testing.T) {
	flood := make([]letter, mostLetters+1)
	for i := range flood {
		flood[i] = letter{N: uint64(i + 1), Body: []byte{0xf6}}
	}
	big := make([]byte, mostBytes)
	for name, letters := range map[string][]letter{
		"too many": flood, "too large": {{N: 1, Body: big}, {N: 2, Body: big}},
		"a gap": {{N: 2, Body: []byte{0xf6}}}, "an acknowledgement of nothing": {{Ack: 7}},
	} {
		c := newConduit("c", "k")
		var err error
		for _, l := range letters {
			if err = c.accept(l, 0); err != nil {
				break
			}
		}
		if err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}

// Any input from the other side results in an error at worst.
func FuzzDecode(f *testing.F) {
	for _, v := range []any{letter{N: 1, Body: []byte{0xf6}, Ack: 3}, hello{ID: "x", Kind: "agent"},
		message{Call: 1, Method: "emit", Body: []byte{0xa0}}, message{Answer: 2, Err: EncodeError(machine.ErrStale)},
		Actions{&ahp.TerminalDataAction{Data: "x"}}} {
		b, err := Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		c, talk := newConduit("c", "k"), NewTalk(newConduit("d", "k"), slog.New(slog.DiscardHandler))
		var l letter
		if Unmarshal(b, &l) == nil {
			_ = c.accept(l, 0)
		}
		var m message
		if Unmarshal(b, &m) == nil {
			_ = m.Err.Decode()
			var wg sync.WaitGroup
			_ = talk.take(context.Background(), m,
				map[string]TalkHandler{"emit": Take(func(context.Context, Actions) error {
					return nil
				})}, &wg)
			wg.Wait()
		}
		var a Actions
		_ = Unmarshal(b, &a)
		var e Error
		if Unmarshal(b, &e) == nil {
			_ = e.Decode()
		}
	})
}

// Only unknown calls of another release fail, and unknown fields are ignored; the connection continues.
func TestCallsAndFieldsOfAnotherReleaseFailAlone(t *testing.T) {
	type old struct{ Name string }
	type newer struct {
		Name  string
		Added map[string][]int
	}
	near, _ := connect(t, nil, map[string]Handler{"greet": Answer(func(_ context.Context, q old) (newer, error) {
		return newer{Name: "hello " + q.Name, Added: map[string][]int{"x": {1}}}, nil
	})})
	for range 3 {
		_, err := Call[old](t.Context(), near, "later.release", newer{Name: "you"})
		if err == nil || errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "update ahphub") {
			t.Fatalf("a call that is not known is answered with %v", err)
		}
		said, err := Call[old](t.Context(), near, "greet", newer{Name: "you", Added: map[string][]int{"y": {2}}})
		if err != nil || said.Name != "hello you" {
			t.Fatalf("with fields that are not known: %+v, %v", said, err)
		}
	}
}
