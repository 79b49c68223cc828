package changes

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Carried holds the change records of turns that move to another session.
type Carried struct {
	from, to *ledger
	turns    map[string]*turnRecord
	touched  []string // files changed by the turns
}

// Carry loads the change records of turns, and has the session they move to keep their checkpoints
// from then on.
func (p *Part) Carry(ctx context.Context, from, to ahp.URI, turns []string) (Carried, error) {
	c := Carried{p.ledger(from), p.ledger(to), map[string]*turnRecord{}, nil}
	svc := p.svc
	if svc == nil || to == from {
		return c, nil
	}
	dirs := map[string]bool{}
	for _, turn := range turns {
		r, err := c.from.turns.get(ctx, turn)
		if err != nil {
			return c, err
		}
		if r == nil || r.To == nil {
			continue // its changes are unknown
		}
		c.turns[turn] = r
		for _, t := range slices.Concat(r.From.Trees, r.To.Trees) {
			dirs[t.Dir] = true
		}
	}
	if err := errors.Join(c.from.record.load(ctx), c.to.record.load(ctx)); err != nil {
		return c, err
	}
	touched, err := p.edits.pathsOf(ctx, from, c.turns)
	if err != nil {
		return c, err
	}
	c.touched = touched
	return c, svc.Adopt(ctx, to, from, slices.Sorted(maps.Keys(dirs)))
}

// HandTurns gives the records of moved turns to the other session. The old session keeps records of
// turns that it still has: forks share turns with their source.
func (p *Part) HandTurns(tx *hub.Tx, c Carried) {
	shared := map[string]bool{}
	if s, ok := hub.StateOf[*ahp.SessionState](tx, c.from.session); ok {
		for _, summary := range s.Chats {
			if chat, ok := hub.StateOf[*ahp.ChatState](tx, summary.Resource); ok {
				for _, t := range chat.Turns {
					shared[t.ID] = true
				}
			}
		}
	}
	for id, r := range c.turns {
		if raw, err := json.Marshal(r); err == nil {
			tx.Record(bucketCheckpoints, turnKey(c.to.session, id), raw)
		}
		c.to.turns.take(id, r)
		if !shared[id] {
			tx.Record(bucketCheckpoints, turnKey(c.from.session, id), nil)
		}
	}
	p.edits.move(tx, c.from.session, c.to.session, c.turns, shared)
	for _, uri := range c.from.forget(c.turns, shared) {
		tx.Apply(uri, &ahp.ChangesetClearedAction{})
		tx.Close(uri)
	}
}

// forget drops moved turns, and returns the open changesets of these turns.
func (l *ledger) forget(moved map[string]*turnRecord, shared map[string]bool) (closed []ahp.URI) {
	gone := func(id string) bool { return moved[id] != nil && !shared[id] }
	for _, uri := range l.schedule.uris() {
		scope, ok := readScope(scopePart(uri))
		if ok && slices.ContainsFunc(scope.turns(), gone) {
			closed = append(closed, uri)
			l.schedule.leave(uri)
		}
	}
	for id := range moved {
		if gone(id) {
			l.turns.leave(id)
		}
	}
	return closed
}

// scopePart returns the part of a changeset's URI after the session.
func scopePart(uri ahp.URI) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(uri, changesetScheme), "/")
	return rest
}

// CarryMarks copies the moved turns' review marks and touched files to the other session.
func (p *Part) CarryMarks(ctx context.Context, c Carried) {
	marks, hunks := map[string]mark{}, map[string][]HunkMark{}
	c.from.record.read(func(rec *ledgerRecord) {
		for id := range c.turns {
			was, is := URI(c.from.session, kindTurn, id)+" ", URI(c.to.session, kindTurn, id)+" "
			carryKeys(marks, rec.Marks, was, is)
			carryKeys(hunks, rec.Hunks, was, is)
		}
	})
	if len(marks)+len(hunks)+len(c.touched) == 0 {
		return
	}
	c.to.record.change(ctx, func(r *ledgerRecord) {
		r.touch(c.touched...)
		if r.Marks == nil {
			r.Marks = map[string]mark{}
		}
		if r.Hunks == nil {
			r.Hunks = map[string][]HunkMark{}
		}
		maps.Copy(r.Marks, marks)
		maps.Copy(r.Hunks, hunks)
	})
}

func carryKeys[V any](to, from map[string]V, was, is string) {
	for key, v := range from {
		if file, ok := strings.CutPrefix(key, was); ok {
			to[is+file] = v
		}
	}
}
