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

// live is what runs for one session: its agent and the turns the agent plays.
type live struct {
	h      *Host
	uri    ahp.URI
	ctx    context.Context // ends with the session or the host
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	closed bool
	opened chan struct{} // nil: the agent was not requested yet
	agent  agent.Session
	err    error
	tools  *Toolbox         // of the agent that is open, or being opened
	stale  bool             // the agent is to be opened anew once it has nothing to do
	runs   map[ahp.URI]*run // the newest of each chat
}

var (
	errDisposed  = errors.New("the session was disposed")
	errCancelled = errors.New("the turn was cancelled")
)

// liveOf returns what runs for a session and makes it on first use.
func (ts *turns) liveOf(session ahp.URI) *live {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if l := ts.live[session]; l != nil {
		return l
	}
	l := &live{h: ts.h, uri: session, runs: map[ahp.URI]*run{}}
	l.ctx, l.cancel = context.WithCancelCause(ts.h.core.Ctx)
	ts.live[session] = l
	return l
}

func (ts *turns) liveIf(session ahp.URI) *live {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.live[session]
}

// startTask runs f in a goroutine that stop waits for; after stop it does nothing.
func (l *live) startTask(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.wg.Go(f)
	}
}

// open returns the session's agent and opens it on first use. After a failure the next
// caller tries again.
func (l *live) open(ctx context.Context) (agent.Session, error) {
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

func (l *live) openAgent() {
	told := l.h.opening.take(l.uri)
	s, err := l.connect(told)
	defer told.end(openedText(err))
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
	if err == nil { // servers that were trusted or switched off while it opened
		l.h.Customs.Settle(l.uri)
	}
}

func (l *live) connect(told *progress) (agent.Session, error) {
	s, ok := hub.StateOf[*ahp.SessionState](l.h.core.Hub, l.uri)
	if !ok {
		return nil, errDisposed
	}
	backend, err := l.h.agents.FindAgain(s.Provider)
	if err != nil {
		return nil, err
	}
	spec, err := l.spec(s, told)
	if err != nil {
		return nil, err
	}
	spec.Tell("Starting " + cmp.Or(l.h.agents.Info(s.Provider).DisplayName, s.Provider))
	return l.tellOpening(s.Provider, func() (agent.Session, error) { return backend.Open(l.ctx, spec) })
}

// opening waits for an agent that is being opened, however that ends.
func (l *live) opening(ctx context.Context) {
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

// busy reports whether a turn or the opening of the agent goes on.
func (l *live) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if !r.over.Load() {
			return true
		}
	}
	return l.opened != nil && l.agent == nil
}

// stop ends the turns, waits for them, and closes the agent.
func (l *live) stop(cause error) {
	l.cancel(cause) // from here on the agent's toolbox is shut, too
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

// drop forgets a session that was disposed or goes to sleep, and stops it.
func (ts *turns) drop(session ahp.URI, cause error) {
	ts.mu.Lock()
	l := ts.live[session]
	delete(ts.live, session)
	ts.mu.Unlock()
	if l != nil {
		l.stop(cause)
	}
	ts.h.Customs.Release(session)
	if errors.Is(cause, errDisposed) {
		ts.h.secrets.Forget(session)
	}
}

// stopLive stops all sessions side by side.
func (ts *turns) stopLive() {
	ts.mu.Lock()
	all := ts.live
	ts.live = map[ahp.URI]*live{}
	ts.mu.Unlock()
	var wg sync.WaitGroup
	for _, l := range all {
		wg.Go(func() { l.stop(core.ErrStopping) })
	}
	wg.Wait()
}

// running are the turns that are not over.
func (l *live) running() (list []*run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.runs {
		if !r.over.Load() {
			list = append(list, r)
		}
	}
	return list
}

// run is one turn that an agent plays.
type run struct {
	id      string
	chat    ahp.URI
	ctx     context.Context
	cancel  context.CancelCauseFunc
	spawned bool          // played by the agent that asked for it
	text    atomic.Int64  // bytes that the turn holds
	over    atomic.Bool   // the end is on its way into the timeline, or there
	done    chan struct{} // closed when the agent is out of it
	calls   callSpans
	hider   hider
	logged  []string // by the agent, while it does not answer; guarded by live.mu
}

func newRun(ctx context.Context, chat ahp.URI, id string) *run {
	r := &run{id: id, chat: chat, done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r
}

// start plays a turn once the chat's one before it is out of its agent; false when the
// session was closed here.
func (l *live) start(chat ahp.URI, id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	before := l.runs[chat]
	if before != nil && before.spawned && before.id == id && !before.over.Load() {
		return true
	}
	if before != nil { // a chat has one turn at a time: the timeline ended this one, whatever its agent does
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

// end cancels the run of a chat's turn; id "" means whichever it is.
func (l *live) end(chat ahp.URI, id string, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[chat]; r != nil && (id == "" || r.id == id) {
		r.over.Store(true)
		r.cancel(cause)
	}
}
