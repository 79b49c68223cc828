package changes

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// Watching reports that a session's directories cannot be watched. It is stored as `changes` under
// the host's own key of the session's `_meta`, as a changeset has none, and absent while watching
// works.
type Watching struct {
	Polling bool   `json:"polling"`
	Seconds int    `json:"seconds"` // maximum interval of looks
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

// publishWatching publishes why updates of a session's changes are late; nil: they no longer are.
func (p *Part) publishWatching(l *ledger, why error) {
	l.watcher.setWatched(why == nil)
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

// LastCommit is the last commit from a review, stored as `commit` under the host's own key in a
// session's `_meta`.
type LastCommit struct {
	ID      string `json:"id"` // short
	Branch  string `json:"branch,omitempty"`
	Subject string `json:"subject"`
	Files   int    `json:"files"`
	By      string `json:"by"` // name
}

const metaCommit = "commit"

// ReadLastCommit returns the last commit from a session's review, with an empty ID if there is
// none.
func ReadLastCommit(m ahp.Meta) LastCommit {
	var own struct {
		Commit LastCommit `json:"commit"`
	}
	_ = json.Unmarshal(m[core.MetaKey], &own) // absent: none
	return own.Commit
}

// publishCommit shows a commit to the session's viewers.
func (p *Part) publishCommit(o operation, done machine.Committed) {
	c := LastCommit{ID: done.ID, Branch: done.Branch,
		Subject: texts.ElideRunes(strings.ToValidUTF8(done.Subject, "\uFFFD"), mostSubject),
		Files:   done.Files, By: o.caller.Name}
	err := p.core.Do(p.core.Ctx, func(tx *hub.Tx) {
		if _, ok := hub.StateOf[*ahp.SessionState](tx, o.ledger.session); ok {
			p.cfg.SetMeta(tx, o.ledger.session, metaCommit, c)
		}
	})
	if err != nil && p.core.Ctx.Err() == nil {
		p.core.Log.Warn("a commit is not shown", "session", o.ledger.session, "err", err)
	}
}

const mostSubject = 200 // characters shown of a commit's subject
