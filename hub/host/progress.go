package host

import (
	"slices"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

const mostToken = 256 // bytes of a progressToken

// progress tells the client that makes a session how that goes on, when it asked for it: on its own connection alone,
// never backwards, and with one last frame at the total (AHP requirements 57 to 59). How many steps there are is
// not known before, so each goes half of the way that is left. Every frame has the total: editors show a progress
// without one as the bytes of a download. A nil progress reports nothing.
type progress struct {
	conn  *hub.Conn
	token string

	mu    sync.Mutex
	steps int
	over  bool
}

// whole is the total of every progress: its unit is a hundredth, as there is no size.
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

// step says what is being done now.
func (p *progress) step(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.tell(what, min(whole-whole>>min(p.steps, 7), whole-1))
	p.steps++
}

// end is the last frame; a command that came to nothing has ended, too.
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
	p.tell(what, whole)
}

// tell sends a frame to a client that follows the root channel, which the frame belongs to (AHP requirement 29).
func (p *progress) tell(what string, done int) {
	if !slices.Contains(p.conn.Subscribed(), ahp.RootURI) {
		return
	}
	p.conn.PutFree(&hub.Notification{Channel: ahp.RootURI, Method: "root/progress", Params: ahp.ProgressParams{
		Channel: ahp.RootURI, ProgressToken: p.token, Progress: float64(done), Total: ahp.Ptr(float64(whole)),
		Message: what}})
}

// openings are the sessions whose agents are about to be opened for a client that asked for progress.
type openings struct {
	mu   sync.Mutex
	told map[ahp.URI]*progress
}

func (o *openings) note(session ahp.URI, p *progress) {
	if p == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.told == nil {
		o.told = map[ahp.URI]*progress{}
	}
	o.told[session] = p
}

// pause ends what was told so far of a session whose agent is opened later; one that nothing was told of waits for
// that.
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
	p := o.told[session]
	delete(o.told, session)
	return p
}
