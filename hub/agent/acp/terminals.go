package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/texts"
)

const mostTerminals = 64 // unreleased ones of one program

// terminals are the terminals of the host that a program started, which people watch.
type terminals struct {
	mu  sync.Mutex
	all map[string]*term
}

// term is a command in a terminal. code and tail are set once done is closed; a nil code means that
// the command moved to the background, which for the program is its end.
type term struct {
	host     agent.Terminal
	title    string
	limit    int
	released bool
	done     chan struct{}
	code     *int
	tail     string
}

// tailer is a terminal that returns the end of its output while its command runs.
type tailer interface{ Tail() string }

func (s *session) createTerminal(p *peer) func(context.Context, terminalParams) (any, error) {
	return func(ctx context.Context, q terminalParams) (any, error) {
		r := s.turn(q.SessionID)
		if r == nil {
			return nil, errors.New("no turn runs, so no command can be run")
		}
		spec := agent.TerminalSpec{Chat: r.turn.Chat, TurnID: r.turn.ID, Title: titleOf(q), Dir: s.dir,
			Command: commandOf(q)}
		if q.Cwd != "" {
			spec.Dir = q.Cwd
		}
		if c := r.current.Load(); c != nil {
			// the protocol does not name the call: take the newest
			spec.ToolCallID, spec.Chat, spec.TurnID = c.id, c.in.chat, c.in.turn
		}
		for _, e := range q.Env {
			spec.Env = append(spec.Env, e.Name+"="+e.Value)
		}
		spec.Env = addPassed(os.Environ(), s.prog, spec.Env)
		id, err := p.terms.create(ctx, p, s.spec.Host, spec, q.OutputByteLimit)
		return map[string]string{"terminalId": id}, err
	}
}

// commandOf returns the command to run. Some programs send a whole shell line as the command.
func commandOf(q terminalParams) []string {
	if len(q.Args) == 0 && strings.ContainsAny(q.Command, " \t\n|&;<>$`") {
		if _, err := exec.LookPath(q.Command); err != nil {
			return agent.ShellCommand(q.Command)
		}
	}
	return append([]string{q.Command}, q.Args...)
}

func titleOf(q terminalParams) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.Join(append([]string{q.Command}, q.Args...), " ")), "\n")
	return texts.ElideBytes(line, 60)
}

func (ts *terminals) create(ctx context.Context, p *peer, host agent.Host, spec agent.TerminalSpec,
	limit *int) (string, error) {
	if held := ts.countHeld(); held >= mostTerminals {
		return "", fmt.Errorf("there are already %d terminals. Release some first", held)
	}
	started, err := host.Terminal(ctx, spec)
	if err != nil {
		return "", err
	}
	t := &term{host: started, title: spec.Title, limit: -1, done: make(chan struct{})}
	if limit != nil && *limit >= 0 {
		t.limit = *limit
	}
	id := ids.New()
	ts.mu.Lock()
	ts.all[id] = t
	ts.mu.Unlock()
	p.wg.Go(func() {
		defer close(t.done)
		code, tail, err := started.Wait(ctx)
		if errors.Is(err, agent.ErrDetached) {
			err = host.Background(ctx, agent.BackgroundSpec{Chat: spec.Chat, Label: spec.Title,
				Command: strings.Join(spec.Command, " "), Terminal: started})
			t.tail = tail + "\n[A person moved this command to the background: it still runs there.]\n"
			if err == nil {
				return
			}
		}
		if err != nil {
			started.Kill() // the requesting program has ended
			code = -1
		}
		t.code, t.tail = &code, tail
	})
	return id, nil
}

// countHeld counts the terminals that the program did not release. It keeps up to 4*mostTerminals
// in total, because tool calls still show released ones.
func (ts *terminals) countHeld() (n int) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.all {
		if !t.released {
			n++
		}
	}
	for id, t := range ts.all {
		if t.released && len(ts.all) >= 4*mostTerminals {
			delete(ts.all, id)
		}
	}
	return n
}

func (ts *terminals) find(id string) (*term, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.all[id]; t != nil && !t.released {
		return t, nil
	}
	return nil, fmt.Errorf("there is no terminal %q", id)
}

func (t *term) isOver() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func (ts *terminals) output(_ context.Context, q terminalParams) (any, error) {
	t, err := ts.find(q.TerminalID)
	if err != nil {
		return nil, err
	}
	out := terminalOutput{}
	if t.isOver() {
		out.Output, out.ExitStatus = t.tail, &exitStatus{t.code}
	} else if live, ok := t.host.(tailer); ok {
		out.Output = live.Tail()
	}
	out.Output = strings.ToValidUTF8(out.Output, "\uFFFD")
	if t.limit >= 0 && len(out.Output) > t.limit {
		out.Output, out.Truncated = lastBytes(out.Output, t.limit), true
	}
	return out, nil
}

// lastBytes cuts at the start, never inside a rune.
func lastBytes(s string, n int) string {
	s = s[len(s)-n:]
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}

func (ts *terminals) wait(ctx context.Context, q terminalParams) (any, error) {
	t, err := ts.find(q.TerminalID)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.done:
		return exitStatus{t.code}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (ts *terminals) kill(_ context.Context, q terminalParams) (any, error) {
	t, err := ts.find(q.TerminalID)
	if err != nil {
		return nil, err
	}
	if !t.isOver() {
		t.host.Kill()
	}
	return struct{}{}, nil
}

// release removes a terminal for the program; people still see it.
func (ts *terminals) release(_ context.Context, q terminalParams) (any, error) {
	t, err := ts.find(q.TerminalID)
	if err != nil {
		return nil, err
	}
	if !t.isOver() {
		t.host.Kill()
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.released = true
	return struct{}{}, nil
}

// content returns a tool call's view of a terminal.
func (ts *terminals) content(id string) ahp.ToolResultContentValue {
	ts.mu.Lock()
	t := ts.all[id]
	ts.mu.Unlock()
	if t == nil {
		return nil
	}
	v := &ahp.ToolResultTerminalContent{Resource: t.host.URI(), Title: t.title, IsPty: ahp.Ptr(true)}
	if t.isOver() && t.code != nil {
		preview := t.tail
		cut := len(preview) > 4<<10
		if cut {
			preview = lastBytes(preview, 4<<10)
		}
		v.Result = &ahp.TerminalCommandResult{ExitCode: ahp.Ptr(int64(*t.code)), Preview: strings.ToValidUTF8(preview,
			""),
			Truncated: &cut}
	}
	return v
}
