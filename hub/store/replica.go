package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// ReplicaBucket has one document: what ApplyMarked noted with the newest batch.
const (
	ReplicaBucket = "replica"
	markKey       = "mark"
)

// File names of a database that takes the place of another: the first while it is written, the second once it is whole.
const (
	incomingName    = "ahphub.db.incoming"
	replacementName = "ahphub.db.replacement"
	copyNames       = "ahphub.db.copy-*" // of files that a Copy is written by way of
)

// ApplyMarked writes encoded batches in one transaction, and a mark with them. pos is the position of the last, above
// that of the newest. After an error the store is to be opened again: its memory is ahead of the disk.
func (s *Store) ApplyMarked(pos int64, mark []byte, batches ...[]byte) error {
	if pos <= s.position {
		return fmt.Errorf("batch %d does not follow batch %d", pos, s.position)
	}
	if err := s.unsynced.Load(); err != nil {
		return *err
	}
	p := newPlan()
	for _, batch := range batches {
		if err := s.addBatch(p, pos, batch); err != nil {
			return err
		}
	}
	s.position = pos
	s.finish(p)
	if mark != nil {
		p.add(sqlPutDoc, ReplicaBucket, markKey, 0, mark, p.sums.doc(ReplicaBucket, markKey, 0, mark))
	}
	if err := s.try(p); err != nil {
		return err
	}
	s.applied.Store(pos)
	if s.snaps != nil {
		s.snaps.want(p.grown)
	}
	return nil
}

// Tend does what Run does besides for a store that is written by ApplyMarked: it closes runs of envelopes by snapshots.
// stop ends it; it is not called beside ApplyMarked.
func (s *Store) Tend() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s.snaps = s.newSnapshotter(ctx)
	var syncing sync.WaitGroup
	if s.cfg.Replays {
		syncing.Go(func() { s.keepSynced(ctx) })
	}
	return func() {
		cancel()
		syncing.Wait()
		s.snaps.stop()
		s.snaps = nil
	}
}

// syncEvery is how much of what was applied may have to be given again after a power cut, in time.
const syncEvery = 100 * time.Millisecond

// keepSynced syncs what commits did not wait for, a little at a time, and moves the log into the database beside them: a commit
// that does either finds the disk busy for tens of milliseconds.
func (s *Store) keepSynced(ctx context.Context) {
	var synced, moved int64
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		at := s.applied.Load()
		if at != synced && s.Sync() == nil {
			synced = at
		}
		if n%syncsAMove == 0 && at != moved {
			moved = at
			s.moveLog(ctx)
		}
	}
}

// syncsAMove is how many syncs there are for each time that the log is moved into the database.
const syncsAMove = 20

// moveLog moves the log into the database while commits go on. Each pass leaves what was committed meanwhile; once one left
// nothing, the log begins anew. A log that has grown all the same is moved by a commit.
func (s *Store) moveLog(ctx context.Context) {
	for range 4 {
		var busy, log, moved int
		err := s.read.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &log, &moved)
		if err != nil || log == moved {
			return
		}
	}
}

// Sync waits until everything that was applied so far is on the disk, also when its commits did not wait (Config.Replays).
// Once it has failed nothing more is applied: the system tells of a page that it could not write only once.
func (s *Store) Sync() error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if s.unsynced.Load() != nil {
		return *s.unsynced.Load()
	}
	f, err := os.OpenFile(filepath.Join(s.cfg.Dir, databaseName+"-wal"), os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err == nil {
		err = syncDir(s.cfg.Dir)
	}
	if err != nil {
		err = fmt.Errorf("sync the database: %w", err)
		s.unsynced.Store(&err)
	}
	return err
}

// Position returns the position of the newest batch.
func (s *Store) Position() int64 { return s.position }

// Mark returns the newest mark of ApplyMarked; nil when there is none.
func (s *Store) Mark(ctx context.Context) ([]byte, error) {
	mark, _, err := s.Get(ctx, ReplicaBucket, markKey)
	return mark, err
}

// Copy is the database as it was when Copy was called, whatever is written meanwhile.
type Copy struct {
	db   *sql.DB
	conn *sql.Conn
	dir  string
}

// Copy returns the database as it is. Its caller closes it: until then the log of the database grows.
func (s *Store) Copy(ctx context.Context) (*Copy, error) {
	db, err := openDB(filepath.Join(s.cfg.Dir, databaseName), readerPragmas)
	if err != nil {
		return nil, err
	}
	c := &Copy{db: db, dir: s.cfg.Dir}
	if c.conn, err = db.Conn(ctx); err == nil {
		// A transaction sees one state from its first read on.
		var n int
		if _, err = c.conn.ExecContext(ctx, "BEGIN"); err == nil {
			err = c.conn.QueryRowContext(ctx, "SELECT count(*) FROM meta").Scan(&n)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy the database: %w", describe(err)), c.Close())
	}
	return c, nil
}

// Close ends the copy.
func (c *Copy) Close() error {
	var err error
	if c.conn != nil {
		err = c.conn.Close()
	}
	return errors.Join(err, c.db.Close())
}

// WriteTo writes the copy as a database file, by way of a file beside the database.
func (c *Copy) WriteTo(w io.Writer) (int64, error) {
	f, err := os.CreateTemp(c.dir, copyNames)
	if err != nil {
		return 0, fmt.Errorf("copy the database: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := c.backup(f.Name()); err != nil {
		return 0, fmt.Errorf("copy the database: %w", describe(err))
	}
	return io.Copy(w, f)
}

func (c *Copy) backup(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return c.conn.Raw(func(driver any) error {
		from, ok := driver.(interface {
			NewBackup(uri string) (*sqlite.Backup, error)
		})
		if !ok {
			return errors.New("the driver of SQLite makes no backups")
		}
		b, err := from.NewBackup(dsn(abs, nil))
		if err != nil {
			return err
		}
		more := true
		for more && err == nil {
			more, err = b.Step(-1)
		}
		return errors.Join(err, b.Finish())
	})
}

// Receive writes a database that a Copy wrote beside the one of a data directory. The next Open takes it in that one's
// place; until Receive returns without an error, nothing has changed.
func Receive(dir string, r io.Reader) error {
	path := filepath.Join(dir, incomingName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("receive a database: %w", err)
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = checkFile(path)
	}
	if err == nil {
		err = os.Rename(path, filepath.Join(dir, replacementName))
	}
	if err != nil {
		os.Remove(path)
		return fmt.Errorf("receive a database: %w", err)
	}
	return syncDir(dir)
}

// checkFile reports why a file is no database of ours that is whole.
func checkFile(path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return errors.Join(err, fmt.Errorf("%w: %s is empty", ErrDamaged, path))
	}
	defer os.Remove(path + "-wal")
	defer os.Remove(path + "-shm")
	return checkWhole(context.Background(), path)
}

// takeReplacement puts a database that was received in the place of the one that is there. It can be done again at any
// point: the old database is gone only together with the arrival of the new one.
func takeReplacement(dir string) error {
	left, _ := filepath.Glob(filepath.Join(dir, copyNames)) // by a program that was killed
	for _, path := range append(left, filepath.Join(dir, incomingName)) {
		os.Remove(path)
	}
	from, to := filepath.Join(dir, replacementName), filepath.Join(dir, databaseName)
	if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, side := range []string{"-wal", "-shm"} { // they belong to the old one
		if err := os.Remove(to + side); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replace the database: %w", err)
		}
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("replace the database: %w", err)
	}
	return syncDir(dir)
}

// syncDir makes the names in a directory durable, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	d.Sync() // not everywhere, and then the system does it by itself
	return d.Close()
}
