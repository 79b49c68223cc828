package host

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// sessionRuntime contains a session's agent and the turns that it runs.
type sessionRuntime struct {
	h      *Host
	uri    ahp.URI
	ctx    context.Context // ends with the session or the host
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	opened chan struct{} // nil: not opened yet
	agent  agent.Session
	err    error
	tools  *Toolbox         // of the agent that is open or opening
	stale  bool             // the agent is to be reopened when it is idle
	runs   map[ahp.URI]*run // the newest run of each chat
}

var (
	errDisposed  = errors.New("the session was disposed")
	errCancelled = errors.New("the turn was cancelled")
)

// runtimeOf returns a session's runtime and creates it on first use.
func (ts *turns) runtimeOf(session ahp.URI) *sessionRuntime {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if l := ts.runtimes[session]; l != nil {
		return l
	}
	l := &sessionRuntime{h: ts.h, uri: session, runs: map[ahp.URI]*run{}}
	l.ctx, l.cancel = context.WithCancelCause(ts.h.core.Ctx)
	ts.runtimes[session] = l
	return l
}

func (ts *turns) findRuntime(session ahp.URI) *sessionRuntime {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.runtimes[session]
}

// startTask runs f in a goroutine that stop waits for. After stop, it does nothing.
func (l *sessionRuntime) startTask(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.wg.Go(f)
	}
}

// open returns the session's agent and opens it on first use. After a failure, the next call tries
// again.
func (l *sessionRuntime) open(ctx context.Context) (agent.Session, error) {
	l.mu.Lock()
	if l.opened == nil && !l.closed {
		l.opened = make(chan struct{})
		l.wg.Go(l.openAgent)
	}
	opened := l.opened
	l.mu.Unlock()
	if opened == nil {
		return nil, context.Cause(l.ctx)
	}
	select {
	case <-opened:
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.agent, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (l *sessionRuntime) openAgent() {
	report := l.h.opening.take(l.uri)
	s, err := l.connect(report)
	defer report.end(openedText(err))
	if err != nil {
		l.takeTools()
	}
	l.mu.Lock()
	l.agent, l.err = s, err
	close(l.opened)
	if err != nil {
		l.opened = nil
	}
	l.mu.Unlock()
	if err == nil { // for servers that were trusted or disabled while it opened
		l.h.Customs.Settle(l.uri)
	}
}

func (l *sessionRuntime) connect(report *progress) (agent.Session, error) {
	s, ok := hub.StateOf[*ahp.SessionState](l.h.core.Hub, l.uri)
	if !ok {
		return nil, errDisposed
	}
	backend, err := l.h.agents.FindAgain(s.Provider)
	if err != nil {
		return nil, err
	}
	spec, err := l.spec(s, report)
	if err != nil {
		return nil, err
	}
	spec.Tell("Starting " + cmp.Or(l.h.agents.Info(s.Provider).DisplayName, s.Provider))
	return l.traceOpening(s.Provider, func() (agent.Session, error) { return backend.Open(l.ctx, spec) })
}

// opening waits until an agent that is being opened is open or failed.
func (l *sessionRuntime) opening(ctx context.Context) {
	l.mu.Lock()
	opened := l.opened
	l.mu.Unlock()
	if opened == nil {
		return
	}
	select {
	case <-opened:
	case <-ctx.Done():
	}
}

// busy reports whether a turn is running or the agent is being opened.
func (l *sessionRuntime) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if !r.over.Load() {
			return true
		}
	}
	return l.opened != nil && l.agent == nil
}

// stop cancels the turns, waits for them, and closes the agent.
func (l *sessionRuntime) stop(cause error) {
	l.cancel(cause) // also revokes the agent's toolbox
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.wg.Wait()
	l.takeTools()
	l.mu.Lock()
	agent := l.agent
	l.agent = nil
	l.mu.Unlock()
	if agent == nil {
		return
	}
	if err := agent.Close(); err != nil {
		l.h.core.Log.Warn("an agent did not close well", "session", l.uri, "err", err)
	}
}

// drop removes and stops the runtime of a session that is disposed or unloaded.
func (ts *turns) drop(session ahp.URI, cause error) {
	ts.mu.Lock()
	l := ts.runtimes[session]
	delete(ts.runtimes, session)
	ts.mu.Unlock()
	if l != nil {
		l.stop(cause)
	}
	ts.h.Customs.Release(session)
	if errors.Is(cause, errDisposed) {
		ts.h.secrets.Forget(session)
	}
}

// stopLive stops all sessions concurrently.
func (ts *turns) stopLive() {
	ts.mu.Lock()
	all := ts.runtimes
	ts.runtimes = map[ahp.URI]*sessionRuntime{}
	ts.mu.Unlock()
	var wg sync.WaitGroup
	for _, l := range all {
		wg.Go(func() { l.stop(core.ErrStopping) })
	}
	wg.Wait()
}

// running returns the runs that have not ended.
func (l *sessionRuntime) running() (list []*run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if !r.over.Load() {
			list = append(list, r)
		}
	}
	return list
}

// run is one turn of an agent.
type run struct {
	id      string
	chat    ahp.URI
	ctx     context.Context
	cancel  context.CancelCauseFunc
	spawned bool          // run by the agent that spawned it
	text    atomic.Int64  // bytes of the turn's text
	over    atomic.Bool   // the turn's end was sent or is being sent
	done    chan struct{} // closed when the agent has left the turn
	calls   callSpans
	hider   hider
	logged  []string // log lines of an agent that does not answer; guarded by sessionRuntime.mu
}

func newRun(ctx context.Context, chat ahp.URI, id string) *run {
	r := &run{id: id, chat: chat, done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// start runs a turn after the agent left the chat's previous one. It returns false if l is closed.
func (l *sessionRuntime) start(chat ahp.URI, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	before := l.runs[chat]
	if before != nil && before.spawned && before.id == id && !before.over.Load() {
		return true
	}
	if before != nil { // a chat has one turn at a time, so the timeline has ended this one
		before.over.Store(true)
		before.cancel(errCancelled)
	}
	r := newRun(l.ctx, chat, id)
	l.runs[chat] = r
	l.wg.Go(func() {
		defer close(r.done)
		defer r.cancel(nil)
		if before != nil {
			<-before.done
		}
		l.play(r)
	})
	return true
}

// end cancels the run of a chat's turn; id "" matches any.
func (l *sessionRuntime) end(chat ahp.URI, id string, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[chat]; r != nil && (id == "" || r.id == id) {
		r.over.Store(true)
		r.cancel(cause)
	}
}
