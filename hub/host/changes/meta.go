package changes

import (
	"encoding/json"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Watching says, under `changes` of the host's own key in a session's `_meta`, that its directories cannot be watched.
// It is absent while they are. A changeset has no `_meta` of its own.
type Watching struct {
	Polling bool   `json:"polling"`
	Seconds int    `json:"seconds"` // between two looks, at most
	Why     string `json:"why"`
}

const metaWatching = "changes"

// ReadWatching returns how a session's directories are watched.
func ReadWatching(m ahp.Meta) Watching {
	var own struct {
		Watching Watching `json:"changes"`
	}
	_ = json.Unmarshal(m[core.MetaKey], &own) // absent: they are watched
	return own.Watching
}

// publishWatching tells viewers of a session's changes that updates come late, and why; nil: they do not any more.
func (p *Part) publishWatching(l *ledger, why error) {
	l.watcher.setTold(why == nil)
	var w Watching
	var value any
	if why != nil {
		w = Watching{Polling: true, Seconds: int(pollLast / time.Second), Why: why.Error()}
		value = w
	}
	err := p.core.Do(p.core.Ctx, func(tx *hub.Tx) {
		s, ok := hub.StateOf[*ahp.SessionState](tx, l.session)
		if !ok || ReadWatching(s.Meta) == w {
			return
		}
		p.cfg.SetMeta(tx, l.session, metaWatching, value)
	})
	if err != nil && p.core.Ctx.Err() == nil {
		p.core.Log.Warn("how directories are watched is not shown", "session", l.session, "err", err)
	}
}
