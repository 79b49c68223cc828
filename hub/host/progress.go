package host

import (
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

const mostToken = 256 // bytes of a progressToken

// progress reports the creation of a session to the client that requested reports: only on its own
// connection, never backwards, with a last frame at the total (AHP requirements 57 to 59). The
// number of steps is unknown, so each step covers half of the remaining way. Every frame has the
// total, as editors show a progress without one as the bytes of a download. A nil progress reports
// nothing.
type progress struct {
	conn  *hub.Conn
	token string

	mu    sync.Mutex
	steps int
	over  bool
}

// whole is the total of every progress, in percent as there is no size.
const whole = 100

func newProgress(c core.Caller, token string) (*progress, error) {
	switch {
	case token == "" || c.Conn == nil:
		return nil, nil
	case len(token) > mostToken:
		return nil, core.BadParams("progressToken: use at most %d bytes", mostToken)
	}
	return &progress{conn: c.Conn, token: token}, nil
}

// step reports the current step.
func (p *progress) step(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.send(what, min(whole-whole>>min(p.steps, 7), whole-1))
	p.steps++
}

// end sends the last frame, also after a failure.
func (p *progress) end(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.steps == 0 {
		return
	}
	p.over = true
	p.send(what, whole)
}

// send sends a frame if the client is subscribed to the root channel, where frames belong (AHP
// requirement 29).
func (p *progress) send(what string, done int) {
	if !slices.Contains(p.conn.Subscribed(), ahp.RootURI) {
		return
	}
	p.conn.PutFree(&hub.Notification{Channel: ahp.RootURI, Method: "root/progress", Params: ahp.ProgressParams{
		Channel: ahp.RootURI, ProgressToken: p.token, Progress: float64(done), Total: ahp.Ptr(float64(whole)),
		Message: what}})
}

// openings maps sessions to the progress of the client that waits for their agent to open.
type openings struct {
	mu       sync.Mutex
	progress map[ahp.URI]*progress
}

func (o *openings) note(session ahp.URI, p *progress) {
	if p == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.progress == nil {
		o.progress = map[ahp.URI]*progress{}
	}
	o.progress[session] = p
}

// pause ends a session's progress if it has reported steps, as the agent opens later. A progress
// without steps is kept for that opening.
func (o *openings) pause(session ahp.URI) {
	if p := o.take(session); p.hasSteps() {
		p.end(openedText(nil))
	} else {
		o.note(session, p)
	}
}

func (p *progress) hasSteps() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps > 0
}

func (o *openings) take(session ahp.URI) *progress {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.progress[session]
	delete(o.progress, session)
	return p
}
