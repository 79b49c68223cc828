package changeset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Config of a Service. Only Dir is needed.
type Config struct {
	Dir    string                 // private repositories live here, a directory a session
	Ignore func() []string        // directories that are never looked into, like the host's own data; nil: none
	Closed func(fs.FileInfo) bool // reports files that are never stored; nil: none

	// Within returns the directories of a session, in which its repositories may lie; nil: the
	// directory being read.
	Within func(session string) []string
	// Granted reports whether the owner allows a session's repository to lead out of its
	// directories; nil: never.
	Granted func(session string, out *OutsideError) bool

	Pass         []string // names of more variables of the environment that git and its hooks see
	TrustFilters []string // directories whose repositories' filters (LFS, clean and smudge) run when they are looked at

	Notify NotifyFunc // watches folders; nil: the system does

	Git        string        // the program; "git"
	Reads      time.Duration // of what a page or a client waits for; 10 seconds
	Checkpoint time.Duration // of one git run of a checkpoint; 30 seconds
	Timeout    time.Duration // of one git run for a person who acts, or that packs; 2 minutes
	Hooks      time.Duration // of a commit, whose hooks may run tests; 10 minutes
	Processes  int           // git programs at a time; 4

	FileBytes      int64 // an untracked file larger than this is listed, not stored; 10 MB
	UntrackedBytes int64 // all untracked files together; 500 MB
	UntrackedFiles int   // likewise; 100 000
	OutputBytes    int   // most that a git program may write, a version of a file included; 64 MB
}

func (c Config) withDefaults() Config {
	c.Git = cmp.Or(c.Git, "git")
	c.Reads = cmp.Or(c.Reads, 10*time.Second)
	c.Checkpoint = cmp.Or(c.Checkpoint, 30*time.Second)
	c.Timeout = cmp.Or(c.Timeout, 2*time.Minute)
	c.Hooks = cmp.Or(c.Hooks, 10*time.Minute)
	c.Processes = cmp.Or(c.Processes, 4)
	c.FileBytes = cmp.Or(c.FileBytes, 10<<20)
	c.UntrackedBytes = cmp.Or(c.UntrackedBytes, 500<<20)
	c.UntrackedFiles = cmp.Or(c.UntrackedFiles, 100_000)
	c.OutputBytes = cmp.Or(c.OutputBytes, 64<<20)
	return c
}

// Service takes checkpoints. Its methods may be called from any goroutine; work on one directory of
// a session is serialized.
type Service struct {
	cfg   Config
	slots *slots

	mu    sync.Mutex
	locks map[string]chan struct{} // by repository
	known map[string]*known        // likewise: what the last look found
	// counts are the lines that comparisons have counted since the last look at everything, likewise.
	counts map[string]map[versions]counted

	splitFrom int64  // bytes of a person's index from which the private one is split
	starting  func() // called before each git program; tests put files there meanwhile
}

const splitFrom = 1 << 20

// New returns a service; it makes directories only when needed.
func New(c Config) *Service {
	c = c.withDefaults()
	return &Service{cfg: c, slots: newSlots(c.Processes), locks: map[string]chan struct{}{}, known: map[string]*known{},
		counts: map[string]map[versions]counted{}, splitFrom: splitFrom}
}

var (
	// ErrNoContent reports that no checkpoint of the session has the object.
	ErrNoContent = errors.New("this version is not kept any more")
	// ErrTooLarge reports that the content exceeds the limit of a read.
	ErrTooLarge = errors.New("too large")
)

// Checkpoint is the content of a session's directories at one moment. It is a document: store it as
// JSON.
type Checkpoint struct {
	Trees []Tree `json:"trees"`
}

// Tree is one directory of a checkpoint.
type Tree struct {
	Dir     string    `json:"dir"`              // what the session calls its directory, cleaned
	Top     string    `json:"top"`              // the work tree's top; paths are relative to it
	Prefix  string    `json:"prefix,omitempty"` // Dir below Top, with slashes
	OID     string    `json:"oid"`
	Skipped []Skipped `json:"skipped,omitempty"` // files that are there and not stored, by path
}

// Skipped is a file that is listed but not stored.
type Skipped struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	Time int64  `json:"time"` // of the last write, in nanoseconds
	Why  string `json:"why"`
}

// Checkpoint stores the current content of the directories. Unchanged content remains in the user's
// repository until Keep.
func (s *Service) Checkpoint(ctx context.Context, session string, dirs []string) (Checkpoint, error) {
	return s.LookAtAll(s.withPatience(ctx), session, dirs)
}

// LookAtAll is a Checkpoint for a page or a client: each git program has the shorter timeout of a
// read.
func (s *Service) LookAtAll(ctx context.Context, session string, dirs []string) (Checkpoint, error) {
	return s.each(ctx, session, dirs, func(r *repo) (Tree, error) { return r.take(ctx) })
}

// Keep copies a checkpoint's content that is still in the user's repository, so that it outlives a
// prune there.
func (s *Service) Keep(ctx context.Context, session string, c Checkpoint) error {
	for _, t := range c.Trees {
		if err := s.repo(session, t.Dir).keep(ctx, t.OID); err != nil {
			return fmt.Errorf("keeping a checkpoint of %s: %w", t.Dir, err)
		}
	}
	return nil
}

// Head returns the content of the last commit of each directory's repository; empty without one.
func (s *Service) Head(ctx context.Context, session string, dirs []string) (Checkpoint, error) {
	return s.each(ctx, session, dirs, func(r *repo) (Tree, error) { return r.committed(ctx, r.s.headTree) })
}

// Uncommitted compares the last commits with the current content of the directories.
func (s *Service) Uncommitted(ctx context.Context, session string, dirs []string) ([]File, error) {
	head, err := s.Head(ctx, session, dirs)
	if err != nil {
		return nil, err
	}
	now, err := s.Checkpoint(ctx, session, dirs)
	if err != nil {
		return nil, err
	}
	return s.Compare(ctx, session, head, now)
}

// each visits the directories of a session, without those inside another one.
func (s *Service) each(ctx context.Context, session string, dirs []string, f func(*repo) (Tree, error)) (Checkpoint,
	error) {
	var c Checkpoint
	dirs, err := distinct(dirs)
	if err != nil {
		return c, err
	}
	for _, dir := range dirs {
		t, err := f(s.repo(session, dir))
		if err == nil {
			err = s.checkLayout(ctx, session, dir) // what was read meanwhile may be of elsewhere by now
		}
		if err != nil {
			return Checkpoint{}, fmt.Errorf("looking at %s: %w", dir, err)
		}
		c.Trees = append(c.Trees, t)
	}
	return withoutNested(c), nil
}

// Drop deletes everything about a session.
func (s *Service) Drop(ctx context.Context, session string) error {
	for _, dir := range s.repositories(session) {
		if err := s.dropOne(ctx, dir); err != nil {
			return fmt.Errorf("forgetting checkpoints: %w", err)
		}
	}
	return os.RemoveAll(s.home(session))
}

func (s *Service) dropOne(ctx context.Context, dir string) error {
	for _, name := range []string{dir + keepLock, dir} { // in the order that keep takes them
		unlock, err := s.lock(ctx, name)
		if err != nil {
			return err
		}
		defer unlock()
		defer s.forget(name)
	}
	return os.RemoveAll(dir)
}

// home returns the directory of a session, named by a hash so that no session's name leaves Dir.
func (s *Service) home(session string) string { return filepath.Join(s.cfg.Dir, shortHash(session)) }

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func (s *Service) repositories(session string) (dirs []string) {
	found, err := os.ReadDir(s.home(session))
	if err != nil {
		return nil // no checkpoint was taken yet
	}
	for _, d := range found {
		if d.IsDir() {
			dirs = append(dirs, filepath.Join(s.home(session), d.Name()))
		}
	}
	return dirs
}

func (s *Service) lock(ctx context.Context, dir string) (unlock func(), err error) {
	s.mu.Lock()
	l := s.locks[dir]
	if l == nil {
		l = make(chan struct{}, 1)
		s.locks[dir] = l
	}
	s.mu.Unlock()
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Service) forget(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.locks, dir)
	delete(s.known, dir)
	delete(s.counts, dir)
}
