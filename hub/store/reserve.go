package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/ahphub/ahphub/hub"
)

// reserve is a file that reserves disk space. When the disk is full, it is removed, so that
// accepted changes can be written. Once it can be recreated, the disk has room again.
type reserve struct {
	path string
	size int64

	mu   sync.Mutex
	kept bool
}

// keep creates the file. It requires twice its size in free space, so that there is room left to
// write.
func (r *reserve) keep() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, err := os.OpenFile(r.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err = allocate(f, 2*r.size); err == nil {
		err = f.Truncate(r.size)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(r.path)
		return err
	}
	r.kept = true
	return nil
}

// release removes the file, and reports whether it existed.
func (r *reserve) release() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := r.kept
	r.kept = false
	return os.Remove(r.path) == nil && had
}

// isKept reports whether the file exists.
func (r *reserve) isKept() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept
}

// fill writes zeros, for systems without an allocation call.
func fill(f *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}

// makeReserve reserves as much as fits. Without a reserve, the host works, but stops immediately on
// a full disk.
func (s *Store) makeReserve() {
	var err error
	for size := s.cfg.ReserveBytes; size >= 1<<20; size /= 2 {
		s.reserve = reserve{path: filepath.Join(s.cfg.Dir, reserveName), size: size}
		if err = s.reserve.keep(); err == nil {
			s.fitLog()
			return
		}
	}
	s.log.Warn("no room is kept for the end of the journal: the disk is nearly full", "err", err)
}

// smallDisk is the free space below which the log is checkpointed early.
const smallDisk = 256 << 20

// fitLog keeps the log smaller than the reserve on a small disk, which it could fill: checkpointing
// it takes the same room again.
func (s *Store) fitLog() {
	if hasRoom(s.reserve.path, smallDisk) {
		return
	}
	pages := s.reserve.size / 2 / 4096
	if _, err := s.conn.exec(fmt.Sprintf("PRAGMA wal_autocheckpoint=%d", pages)); err != nil {
		s.log.Warn("the log is not kept small", "err", err)
	}
}

// errFull is the reason why the host is read-only while the reserve is in use.
var errFull = &diskError{"the disk is full: free some space", errors.New("the reserve is used")}

func isFull(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_FULL
}

// makeRoom releases the reserve on a full disk and empties the log, which may be what fills it. If
// the reserve then does not fit, the disk is full, and the freed space is for already accepted
// changes.
func (s *Store) makeRoom() {
	had := s.reserve.release()
	s.truncateLog()
	if s.reserve.keep() == nil {
		return
	}
	s.full.Store(true)
	if had {
		s.log.Error("the disk is full; ahphub is read-only until there is space", "bytes", 2*s.reserve.size)
	}
}

// truncateLog checkpoints the log and empties it. Readers may prevent that; it is retried.
func (s *Store) truncateLog() {
	if _, err := s.read.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		s.log.Debug("the log was not emptied", "err", err)
	}
}

// keepReserve ends the read-only state of a full disk once there is room, and creates a missing
// reserve.
func (s *Store) keepReserve(ctx context.Context, h *hub.Hub) {
	tick := time.NewTicker(s.cfg.RoomEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		switch {
		case s.staysFull(h):
			s.truncateLog()
			s.endFull(h)
		case !s.reserve.isKept():
			_ = s.reserve.keep() // there was no room at startup
		}
	}
}

// endFull recreates the reserve, if there is room, and ends the read-only state.
func (s *Store) endFull(h *hub.Hub) {
	s.fullMu.Lock()
	defer s.fullMu.Unlock()
	if s.reserve.keep() != nil {
		return
	}
	s.full.Store(false)
	s.log.Info("the disk has room again")
	h.JournalBack()
}

// staysFull keeps the host read-only while the reserve is in use: it saves accepted changes, but
// accepts no new ones. It reports whether that is the case.
func (s *Store) staysFull(h *hub.Hub) bool {
	s.fullMu.Lock()
	defer s.fullMu.Unlock()
	if s.full.Load() {
		h.JournalFull(errFull)
	}
	return s.full.Load()
}
