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
	bucketUndo = "undo" // key: session URI, value: []undoRecord, oldest first
	mostUndo   = 10     // per session
	undoFiles  = 20_000 // of all records
)

// undoRecord contains how to undo the writes of one operation.
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

// undoLog holds a session's undo records, read once. The slice is immutable.
type undoLog struct {
	keep    keeper
	session ahp.URI

	mu     sync.Mutex
	list   []undoRecord
	read   bool
	fits   map[string]bool // by id, the computer's last answer whether a record can be undone
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

// edit changes the loaded records and returns them.
func (u *undoLog) edit(change func([]undoRecord) []undoRecord) []undoRecord {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = change(u.list)
	return u.list
}

// undoFor returns the newest record of a changeset that can still be undone, or nil.
func (p *Part) undoFor(ctx context.Context, l *ledger, uri ahp.URI) (*undoRecord, error) {
	list, err := l.undo.load(ctx)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Channel == uri && p.canTakeBack(ctx, l, &list[i]) {
			return &list[i], nil
		}
	}
	return nil, err
}

// canTakeBack reports whether a record can be undone. As this sends all written content to the
// computer, it asks only once between two writes to the record's files.
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

// answer returns whether a record can be undone, if known, and how often answers were dropped.
func (u *undoLog) answer(id string) (fits, known bool, writes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	fits, known = u.fits[id]
	return fits, known, u.writes
}

// setAnswer stores an answer, unless answers were dropped since the question.
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

// dropAnswers drops answers after writes: all if w covers every file, otherwise those of records
// with a written name as file or parent directory.
func (u *undoLog) dropAnswers(w lookRequest) {
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
		written[strings.ToLower(filepath.Base(path))] = true // a parent may have another name through a symbolic link
	}
	for i := range u.list {
		if u.list[i].concerns(written) {
			delete(u.fits, u.list[i].ID)
		}
	}
}

// concerns reports whether a record has a file or parent directory with one of the names, in lower
// case.
func (r *undoRecord) concerns(names map[string]bool) bool {
	return slices.ContainsFunc(r.Undo.Files, func(f machine.RewrittenFile) bool {
		path := strings.ToLower(filepath.ToSlash(filepath.Join(f.Top, f.Path)))
		return slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return names[name] })
	})
}

// keepUndo stores an undo record, and returns once it is durable. Only then may files be written.
func (p *Part) keepUndo(ctx context.Context, o operation, u machine.Rewrite) error {
	r := undoRecord{ID: ids.New(), Channel: o.Channel, Op: o.OperationID, By: o.caller.Who(), At: p.core.Now().UTC(),
		Undo: u}
	return p.changeUndos(ctx, o.ledger, func(list []undoRecord) []undoRecord {
		return dropOldest(append(slices.Clone(list), r))
	})
}

// forgetUndo drops an undo record after its use.
func (p *Part) forgetUndo(ctx context.Context, l *ledger, id string) error {
	return p.changeUndos(ctx, l, func(list []undoRecord) []undoRecord {
		return slices.DeleteFunc(slices.Clone(list), func(r undoRecord) bool { return r.ID == id })
	})
}

// dropOldest drops the oldest records above the limits. It keeps the newest.
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

// takeBack undoes the newest operation that can be undone.
func (p *Part) takeBack(ctx context.Context, o operation) (string, error) {
	o.ledger.undo.dropAnswers(lookRequest{whole: true}) // the last write may not have been reported yet
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
