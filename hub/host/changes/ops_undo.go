package changes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/machine"
)

const (
	bucketUndo = "undo" // key: session URI, value: []undoRecord, the oldest first
	mostUndo   = 10     // of a session
	undoFiles  = 20_000 // of all of them
)

// undoRecord is how to take back what one operation wrote.
type undoRecord struct {
	ID      string          `json:"id"`
	Channel ahp.URI         `json:"channel"`
	Op      string          `json:"op"`
	By      core.Identity   `json:"by"`
	At      time.Time       `json:"at"`
	Undo    machine.Rewrite `json:"undo"`
}

func (r *undoRecord) describe() string {
	verb := "revert"
	if r.Op == opDiscard {
		verb = "discard"
	}
	return "Undo " + verb + " (" + countFiles(len(r.Undo.Files)) + ")"
}

// undoLog holds how to take a session's operations back, read once. The slice never changes.
type undoLog struct {
	keep    keeper
	session ahp.URI

	mu     sync.Mutex
	list   []undoRecord
	read   bool
	fits   map[string]bool // by id, whether a record can be taken back, as the computer said last
	writes int             // how often answers were dropped
}

// load returns the records.
func (u *undoLog) load(ctx context.Context) ([]undoRecord, error) {
	u.mu.Lock()
	had, read := u.list, u.read
	u.mu.Unlock()
	if read {
		return had, nil
	}
	var list []undoRecord
	if err := u.keep.readRecord(ctx, bucketUndo, u.session, &list); err != nil {
		return nil, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.read {
		u.list, u.read = list, true
	}
	return u.list, nil
}

// edit changes the records, which were loaded, and returns them.
func (u *undoLog) edit(change func([]undoRecord) []undoRecord) []undoRecord {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = change(u.list)
	return u.list
}

// undoFor returns the newest record of a changeset that can still be taken back, nil without one.
func (p *Part) undoFor(ctx context.Context, l *ledger, uri ahp.URI) (*undoRecord, error) {
	list, err := l.undo.load(ctx)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Channel == uri && p.canTakeBack(ctx, l, &list[i]) {
			return &list[i], nil
		}
	}
	return nil, err
}

// canTakeBack reports whether a record can be taken back. The computer, which is sent all that was written, is asked
// once between two writes to the record's files.
func (p *Part) canTakeBack(ctx context.Context, l *ledger, r *undoRecord) bool {
	fits, known, writes := l.undo.answer(r.ID)
	if known {
		return fits
	}
	fits = p.svc.CanTakeBack(ctx, l.session, r.Undo)
	if ctx.Err() == nil {
		l.undo.setAnswer(r.ID, fits, writes)
	}
	return fits
}

// answer returns whether a record can be taken back, if that is known, and how often answers were dropped.
func (u *undoLog) answer(id string) (fits, known bool, writes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	fits, known = u.fits[id]
	return fits, known, u.writes
}

// setAnswer keeps an answer, unless answers were dropped since it was asked for.
func (u *undoLog) setAnswer(id string, fits bool, writes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if writes != u.writes {
		return
	}
	if u.fits == nil {
		u.fits = map[string]bool{}
	}
	u.fits[id] = fits
}

// dropAnswers forgets whether records can be taken back, after writes: of every record when w is about every file,
// otherwise of those with a file, or a directory above one, of a written name.
func (u *undoLog) dropAnswers(w wanted) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !w.whole && len(w.paths) == 0 {
		return
	}
	u.writes++
	if w.whole {
		u.fits = nil
		return
	}
	written := map[string]bool{}
	for path := range w.paths {
		written[strings.ToLower(filepath.Base(path))] = true // links above it may spell its directory otherwise
	}
	for i := range u.list {
		if u.list[i].concerns(written) {
			delete(u.fits, u.list[i].ID)
		}
	}
}

// concerns reports whether a record has a file, or a directory above one, of one of the names, in lower case.
func (r *undoRecord) concerns(names map[string]bool) bool {
	return slices.ContainsFunc(r.Undo.Files, func(f machine.RewrittenFile) bool {
		path := strings.ToLower(filepath.ToSlash(filepath.Join(f.Top, f.Path)))
		return slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return names[name] })
	})
}

// keepUndo keeps how to take an operation back, and returns once that is durable: only then is anything written.
func (p *Part) keepUndo(ctx context.Context, o operation, u machine.Rewrite) error {
	r := undoRecord{ID: ids.New(), Channel: o.Channel, Op: o.OperationID, By: o.caller.Who(), At: p.core.Now().UTC(),
		Undo: u}
	return p.changeUndos(ctx, o.ledger, func(list []undoRecord) []undoRecord {
		return dropOldest(append(slices.Clone(list), r))
	})
}

// forgetUndo drops how to take an operation back, once that was done.
func (p *Part) forgetUndo(ctx context.Context, l *ledger, id string) error {
	return p.changeUndos(ctx, l, func(list []undoRecord) []undoRecord {
		return slices.DeleteFunc(slices.Clone(list), func(r undoRecord) bool { return r.ID == id })
	})
}

// dropOldest drops the oldest records beyond the limits; the newest stays.
func dropOldest(list []undoRecord) []undoRecord {
	files := 0
	for i := len(list) - 1; i >= 0; i-- {
		files += len(list[i].Undo.Files)
		if n := len(list) - i; n > 1 && (n > mostUndo || files > undoFiles) {
			return list[i+1:]
		}
	}
	return list
}

func (p *Part) changeUndos(ctx context.Context, l *ledger, edit func([]undoRecord) []undoRecord) error {
	if _, err := l.undo.load(ctx); err != nil {
		return err
	}
	durable := make(chan struct{})
	var failed error
	err := p.core.Do(ctx, func(tx *hub.Tx) {
		raw, err := json.Marshal(l.undo.edit(edit))
		if failed = err; err != nil {
			return
		}
		tx.Record(bucketUndo, l.session, raw)
		tx.Effect("undo "+l.session, func(context.Context) { close(durable) })
	})
	if err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	select {
	case <-durable:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takeBack undoes the newest operation that can be.
func (p *Part) takeBack(ctx context.Context, o operation) (string, error) {
	o.ledger.undo.dropAnswers(wanted{whole: true}) // a write may not have been told yet
	r, err := p.undoFor(ctx, o.ledger, o.Channel)
	if err != nil {
		return "", err
	}
	if r == nil {
		return "", fmt.Errorf("%w: the files have changed since", machine.ErrConflict)
	}
	if err := p.svc.TakeBack(ctx, o.ledger.session, r.Undo); err != nil {
		return "", err
	}
	return "Restored " + countFiles(len(r.Undo.Files)), p.forgetUndo(ctx, o.ledger, r.ID)
}
