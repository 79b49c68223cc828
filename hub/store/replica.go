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

// ReplicaBucket has one document: the mark that ApplyMarked wrote with the newest batch.
const (
	ReplicaBucket = "replica"
	markKey       = "mark"
)

// File names of a database that replaces another one: first while it is received, then once it is
// complete.
const (
	incomingName    = "ahphub.db.incoming"
	replacementName = "ahphub.db.replacement"
	copyNames       = "ahphub.db.copy-*" // temporary files of Copy.WriteTo
)

// ApplyMarked writes encoded batches and a mark in one transaction. pos is the position of the last
// batch and must be above the newest position. After an error the store must be reopened: its
// memory is ahead of the disk.
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

// Maintain runs the background work of a store that is written by ApplyMarked: it closes runs of
// envelopes with snapshots, and syncs the database if commits do not. stop ends it; it must not be
// called during ApplyMarked.
func (s *Store) Maintain() (stop func()) {
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

// syncEvery limits how much a power cut can lose. The node receives that part again.
const syncEvery = 100 * time.Millisecond

// keepSynced syncs commits that did not wait for the disk, and checkpoints the WAL, both
// concurrently with commits: a commit that does either itself waits tens of milliseconds for the
// disk.
func (s *Store) keepSynced(ctx context.Context) {
	var synced, checkpointed int64
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
		if n%syncsPerCheckpoint == 0 && at != checkpointed {
			checkpointed = at
			s.checkpoint(ctx)
		}
	}
}

// syncsPerCheckpoint is the number of syncs for each checkpoint.
const syncsPerCheckpoint = 20

// checkpoint moves the WAL into the database while commits continue. Each pass leaves the commits
// made during it; after a pass that leaves none, SQLite starts the WAL from the beginning. If the
// WAL still grows too long, a commit checkpoints it.
func (s *Store) checkpoint(ctx context.Context) {
	for range 4 {
		var busy, log, moved int
		err := s.read.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &log, &moved)
		if err != nil || log == moved {
			return
		}
	}
}

// Sync syncs everything applied so far to disk, including commits that did not wait
// (Config.Replays). After a failed sync the store applies nothing more, because the system reports
// a page that it could not write only once.
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

// Mark returns the newest mark of ApplyMarked, or nil.
func (s *Store) Mark(ctx context.Context) ([]byte, error) {
	mark, _, err := s.Get(ctx, ReplicaBucket, markKey)
	return mark, err
}

// Copy is the database at the moment when Store.Copy was called.
type Copy struct {
	db   *sql.DB
	conn *sql.Conn
	dir  string
}

// Copy returns a consistent copy of the database. The caller must close it: until then, the WAL
// grows.
func (s *Store) Copy(ctx context.Context) (*Copy, error) {
	db, err := openDB(filepath.Join(s.cfg.Dir, databaseName), readerPragmas)
	if err != nil {
		return nil, err
	}
	c := &Copy{db: db, dir: s.cfg.Dir}
	if c.conn, err = db.Conn(ctx); err == nil {
		// A transaction sees one state from its first read.
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

// Close releases the copy.
func (c *Copy) Close() error {
	var err error
	if c.conn != nil {
		err = c.conn.Close()
	}
	return errors.Join(err, c.db.Close())
}

// WriteTo writes the copy as a database file. It uses a temporary file in the data directory.
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
			return errors.New("the SQLite driver does not support backups")
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

// Receive stores a database written by a Copy next to the database of a data directory. The next
// Open replaces the old database with it. If Receive fails, nothing has changed.
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

// checkFile returns an error if a file is not a complete, undamaged database.
func checkFile(path string) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return errors.Join(err, fmt.Errorf("%w: %s is empty", ErrDamaged, path))
	}
	defer os.Remove(path + "-wal")
	defer os.Remove(path + "-shm")
	return checkWhole(context.Background(), path)
}

// takeReplacement replaces the database with a received one, if any. It can be interrupted and
// repeated at any point: a rename removes the old database and adds the new one together.
func takeReplacement(dir string) error {
	left, _ := filepath.Glob(filepath.Join(dir, copyNames)) // left by a killed program
	for _, path := range append(left, filepath.Join(dir, incomingName)) {
		os.Remove(path)
	}
	from, to := filepath.Join(dir, replacementName), filepath.Join(dir, databaseName)
	if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, side := range []string{"-wal", "-shm"} { // of the old database
		if err := os.Remove(to + side); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("replace the database: %w", err)
		}
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("replace the database: %w", err)
	}
	return syncDir(dir)
}

// syncDir syncs the names in a directory to disk, where the system supports it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	d.Sync() // unsupported on some systems, which do it themselves
	return d.Close()
}
