package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// File names inside the data directory.
const (
	databaseName = "ahphub.db"
	lockName     = "ahphub.lock"
	reserveName  = "ahphub.reserve"
)

var (
	// ErrLocked reports that another process uses the data directory.
	ErrLocked = errors.New("the data directory is in use by another process")
	// ErrNewer reports that a newer program wrote the database; it is untouched.
	ErrNewer = errors.New("the database was written by a newer ahphub")
	// ErrDamaged reports that the database is not ahphub's or fails its check.
	ErrDamaged = errors.New("the database is damaged")
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrNotFound reports that the store lacks a channel.
	ErrNotFound = errors.New("not in the store")
)

// Config configures a store; zero fields take the stated default.
type Config struct {
	Dir         string
	WindowBytes int           // envelopes of a channel kept for replay: 4 MiB
	SeqBlock    int64         // numbers reserved at once: 1<<20
	CheckBytes  int64         // largest database checked completely before Open returns: 64 MiB
	RetryAfter  time.Duration // first pause after a failed journal write, doubled up to 5 s: 50 ms
	GuardEvery  time.Duration // interval of checks that the files still exist: 2 s
	Log         *slog.Logger  // default: slog.Default()

	ReserveBytes int64         // disk space reserved for the end of the journal: 8 MiB
	RoomEvery    time.Duration // interval of checks whether a full disk has room: 1 s

	// Replays says that another log keeps each batch until Sync returns and replays it after a
	// crash of the computer, so that commits need not wait for the disk.
	Replays bool

	Wrote func(took time.Duration) // called after each write of the journal; nil: nothing

	fail func() error // called before each commit; lets tests fail the disk
}

func (c Config) withDefaults() Config {
	c.WindowBytes = cmp.Or(c.WindowBytes, 4<<20)
	c.SeqBlock = cmp.Or(c.SeqBlock, 1<<20)
	c.CheckBytes = cmp.Or(c.CheckBytes, 64<<20)
	c.RetryAfter = cmp.Or(c.RetryAfter, 50*time.Millisecond)
	c.GuardEvery = cmp.Or(c.GuardEvery, 2*time.Second)
	c.ReserveBytes = cmp.Or(c.ReserveBytes, 8<<20)
	c.RoomEvery = cmp.Or(c.RoomEvery, time.Second)
	c.Log = cmp.Or(c.Log, slog.Default())
	return c
}

// Store is an open data directory. All methods may be called from any
// goroutine; Run and Apply have one caller.
type Store struct {
	cfg       Config
	log       *slog.Logger
	lock      *os.File
	lastAlive time.Time // of the previous process
	read      *sql.DB   // read-only connections
	db        *sql.DB   // has only the writing connection
	conn      *conn

	tasks  sync.WaitGroup
	cancel context.CancelFunc // ends tasks
	once   sync.Once

	writing  sync.Mutex   // held while conn is used
	closed   bool         // conn is closed; guarded by writing
	position int64        // of the newest batch; used by Run and Apply
	applied  atomic.Int64 // position of the newest batch that ApplyMarked wrote
	syncing  sync.Mutex
	unsynced atomic.Pointer[error] // why Sync failed

	catalogue catalogue
	chain     chain        // used by Run and Apply
	snaps     *snapshotter // used by ApplyMarked; nil without Maintain
	damage    damage
	guard     guard
	reserve   reserve
	fullMu    sync.Mutex  // held while full and the hub's read-only state change together
	full      atomic.Bool // the disk is full: no new changes until the reserve is back
}

// Open locks the data directory, creating it if absent, migrates and checks the database, and
// starts the background tasks. Close ends them and releases the lock.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	path := filepath.Join(cfg.Dir, databaseName)
	if err := inspect(path); err != nil {
		return nil, err // before anything is touched
	}
	if err := makePrivate(cfg.Dir, path); err != nil {
		return nil, err
	}
	lock, alive, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := takeReplacement(cfg.Dir); err != nil {
		lock.Close()
		return nil, err
	}
	s := &Store{cfg: cfg, log: cfg.Log, lock: lock, lastAlive: later(alive, path+"-wal")}
	if err := s.open(ctx, path); err != nil {
		s.closeFiles()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s.makeReserve()
	tasks, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.tasks.Go(func() { s.beat(tasks) })
	s.checkLater(tasks, path)
	return s, nil
}

func (s *Store) open(ctx context.Context, path string) error {
	var err error
	if s.db, err = openDB(path, writerPragmas); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1)
	c, err := s.db.Conn(ctx)
	if err != nil {
		return describe(err)
	}
	s.conn = &conn{Conn: c, stmts: map[string]*sql.Stmt{}}
	if err := s.checkNow(ctx, path); err != nil {
		return err
	}
	if err := s.conn.migrate(migrations); err != nil {
		return err
	}
	if s.cfg.Replays {
		if _, err := s.conn.exec("PRAGMA synchronous=NORMAL"); err != nil {
			return describe(err)
		}
	}
	if s.read, err = openDB(path, readerPragmas); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(4)
	err = errors.Join(s.catalogue.load(ctx, s.read), s.chain.load(ctx, s.read), metaValue(ctx, s.read, metaApplied,
		&s.position))
	if err != nil {
		return err
	}
	return s.guard.watch(s.lock, s.cfg.Dir)
}

// Close waits for the current transaction and unlocks the directory. Call it after Run has ended.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		s.cancel()
		s.tasks.Wait()
		s.writing.Lock()
		defer s.writing.Unlock()
		s.closed = true
		err = s.closeFiles()
	})
	return err
}

func (s *Store) closeFiles() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	errs = append(errs, s.lock.Close())
	return errors.Join(errs...)
}

// makePrivate makes the directory and the database readable only by their owner: they contain
// tokens and transcripts. A directory with other files keeps its mode.
func makePrivate(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data directory %s: %w", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("data directory %s: %w", dir, err)
	}
	_, err = os.Stat(path)
	if ours := err == nil; ours || len(entries) == 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("data directory %s: %w", dir, err)
		}
	}
	return nil
}
