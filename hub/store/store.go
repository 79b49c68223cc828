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
	// ErrLocked means that another process works on the data directory.
	ErrLocked = errors.New("the data directory is in use by another process")
	// ErrNewer means that a newer program wrote the database; nothing was touched.
	ErrNewer = errors.New("the database was written by a newer ahphub")
	// ErrDamaged means that the database is not one of ours or fails its check.
	ErrDamaged = errors.New("the database is damaged")
	// ErrClosed is returned by calls after Close.
	ErrClosed = errors.New("the store is closed")
	// ErrNotFound is returned for a channel that the store does not hold.
	ErrNotFound = errors.New("not in the store")
)

// Config says where the store lies; zero fields take the stated default.
type Config struct {
	Dir         string
	WindowBytes int           // envelopes kept of a channel for replay: 4 MiB
	SeqBlock    int64         // numbers made durable at once before use: 1<<20
	CheckBytes  int64         // a database up to this size is checked whole before Open returns: 64 MiB
	RetryAfter  time.Duration // first pause after a failed journal write, doubled up to 5 s: 50 ms
	GuardEvery  time.Duration // between looks whether the files are still there: 2 s
	Log         *slog.Logger  // default: slog.Default()

	ReserveBytes int64         // kept free for the end of the journal: 8 MiB
	RoomEvery    time.Duration // between looks whether a full disk has room again: 1 s

	// Replays says that another log has each batch until Sync returns, and gives it again after a crash of the computer: a
	// commit does not wait for the disk then.
	Replays bool

	Wrote func(took time.Duration) // told after each write of the journal; nil: nothing is

	fail func() error // asked before each commit; tests make the disk fail with it
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
	lastAlive time.Time // of the process before this one
	read      *sql.DB   // connections that only read
	db        *sql.DB   // holds the one connection that writes
	conn      *conn

	tasks  sync.WaitGroup
	cancel context.CancelFunc // ends tasks
	once   sync.Once

	writing  sync.Mutex   // held while conn is used
	closed   bool         // conn is, guarded by writing
	position int64        // of the newest batch; Run and Apply have it
	applied  atomic.Int64 // position of the newest batch that ApplyMarked wrote
	syncing  sync.Mutex
	unsynced atomic.Pointer[error] // why Sync failed

	catalogue catalogue
	chain     chain        // Run and Apply have it
	snaps     *snapshotter // of a store that is tended; ApplyMarked has it
	damage    damage
	guard     guard
	reserve   reserve
	fullMu    sync.Mutex  // held while full and the hub's read-only time change together
	full      atomic.Bool // the disk is: nothing new is taken until the reserve is back
}

// Open locks the data directory, creating it when absent, brings the database
// up to date, checks it and starts its writer. Close gives all of it back.
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

// Close waits for the transaction that is under way and unlocks the directory. Run has ended before.
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

// makePrivate makes the directory and the database readable by their owner
// alone: tokens and transcripts lie in them. A directory that already holds
// something else keeps its mode.
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
