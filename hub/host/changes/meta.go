package changes

import (
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Watching says, under `changes` of the host's own key in a session's `_meta`, that its directories cannot be watched.
// A changeset has no `_meta` of its own. Absent, they are.
type Watching struct {
	Polling bool   `json:"polling"`
	Seconds int    `json:"seconds"` // between two looks, at most
	Why     string `json:"why"`
}

const metaWatching = "changes"

// ReadWatching returns how a session's directories are watched.
func ReadWatching(m ahp.Meta) (w Watching) {
	readOwn(m, metaWatching, &w)
	return w
}

// publishWatching tells those who look at a session's changes that they come late, and why, or that they do not
// any more.
func (p *Part) publishWatching(l *ledger, why error) {
	l.watcher.setTold(why == nil)
	w := Watching{}
	if why != nil {
		w = Watching{Polling: true, Seconds: int(pollLast / time.Second), Why: why.Error()}
	}
	err := p.core.Do(p.core.Ctx, func(tx *hub.Tx) {
		s, ok := hub.StateOf[*ahp.SessionState](tx, l.session)
		if !ok || ReadWatching(s.Meta) == w {
			return
		}
		tx.Apply(l.session, &ahp.SessionMetaChangedAction{Meta: withWatching(s.Meta, w)})
	})
	if err != nil && p.core.Ctx.Err() == nil {
		p.core.Log.Warn("how directories are watched is not shown", "session", l.session, "err", err)
	}
}

func withWatching(m ahp.Meta, w Watching) ahp.Meta {
	if !w.Polling {
		return withOwn(m, metaWatching, nil)
	}
	return withOwn(m, metaWatching, w)
}
