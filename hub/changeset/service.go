package changeset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/machine"
)

// Config of a Service. Only Dir is needed.
type Config struct {
	Dir       string                  // private repositories, one directory per session
	Worktrees string                  // worktrees, one directory per name; "" allows none
	Ignore    func() []string         // directories that are never read, like the host's own data; nil: none
	Refuse    func(path string) error // refuses locations for repositories, even granted ones; nil: none
	Closed    func(fs.FileInfo) bool  // reports files that are never stored; nil: none

	Pass         []string // names of more environment variables for git and its hooks
	TrustFilters []string // directories whose repositories' filters (LFS, clean and smudge) run for reading
	TrustHooks   []string // directories in whose repositories git acts outside of sandboxes, with its hooks

	Notify NotifyFunc // watches folders; nil: the system does
	Boxes  Boxes      // runs git in the sandboxes of sessions; nil: there are none

	Git        string        // the program; "git"
	Reads      time.Duration // for reads that a page or a client waits for; 10 seconds
	Checkpoint time.Duration // for one git run of a checkpoint; 30 seconds
	Timeout    time.Duration // for one git run that packs or acts for a person; 2 minutes
	Hooks      time.Duration // for a commit, whose hooks may run tests; 10 minutes
	Processes  int           // concurrent git programs; 4

	FileBytes      int64 // an untracked file larger than this is listed, not stored; 10 MB
	UntrackedBytes int64 // total of all untracked files; 500 MB
	UntrackedFiles int   // number of untracked files; 100 000
	OutputBytes    int   // most output of a git program, including a file's content; 64 MB
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
	known map[string]*known        // by repository: the result of the last look
	// counts are the lines counted by comparisons since the last look at everything, by repository.
	counts map[string]map[versions]counted

	anywhere  bool   // repositories may lead anywhere; for tests
	atOnce    int64  // bytes of kept content that one run of git reads, except for a single larger file
	splitFrom int64  // size in bytes from which the private copy of an index is split
	starting  func() // called before each git program; tests create files in it
}

const (
	splitFrom = 1 << 20
	atOnce    = 16 << 20
)

// New returns a service; it makes directories only when needed.
func New(c Config) *Service {
	c = c.withDefaults()
	return &Service{cfg: c, slots: newSlots(c.Processes), locks: map[string]chan struct{}{}, known: map[string]*known{},
		counts: map[string]map[versions]counted{}, splitFrom: splitFrom, atOnce: atOnce}
}

// Checkpoint stores the current content of the directories. Unchanged content remains in the user's
// repository until Keep.
func (s *Service) Checkpoint(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return s.LookAtAll(s.withPatience(ctx), ws, dirs)
}

// LookAtAll is a Checkpoint for a page or a client: each git program has the shorter timeout of a
// read.
func (s *Service) LookAtAll(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return s.each(ctx, ws, dirs, func(r *repo) (machine.Tree, error) { return r.take(ctx) })
}

// Keep copies a checkpoint's content that is still in the user's repository, so that it outlives a
// prune there.
func (s *Service) Keep(ctx context.Context, ws machine.Workspace, c machine.Checkpoint) error {
	for _, t := range c.Trees {
		if err := s.repo(ws, t.Dir).keep(ctx, t.OID); err != nil {
			return fmt.Errorf("keeping a checkpoint of %s: %w", t.Dir, err)
		}
	}
	return nil
}

// Head returns the content of the last commit of each directory's repository; empty without one.
func (s *Service) Head(ctx context.Context, ws machine.Workspace, dirs []string) (machine.Checkpoint, error) {
	return s.each(ctx, ws, dirs, func(r *repo) (machine.Tree, error) { return r.committed(ctx, r.s.headTree) })
}

// Uncommitted compares the last commits with the current content of the directories.
func (s *Service) Uncommitted(ctx context.Context, ws machine.Workspace, dirs []string) ([]machine.ChangedFile, error) {
	head, err := s.Head(ctx, ws, dirs)
	if err != nil {
		return nil, err
	}
	now, err := s.Checkpoint(ctx, ws, dirs)
	if err != nil {
		return nil, err
	}
	return s.Compare(ctx, ws, head, now)
}

// each visits the directories of a session, without those inside another one.
func (s *Service) each(ctx context.Context, ws machine.Workspace, dirs []string, f func(*repo) (machine.Tree,
	error)) (machine.Checkpoint, error) {
	var c machine.Checkpoint
	dirs, err := distinct(dirs)
	if err != nil {
		return c, err
	}
	for _, dir := range dirs {
		t, err := f(s.repo(ws, dir))
		if err == nil {
			err = s.checkLayout(ctx, ws, dir) // the layout may have changed during the read
		}
		if err != nil {
			return machine.Checkpoint{}, fmt.Errorf("looking at %s: %w", dir, err)
		}
		c.Trees = append(c.Trees, t)
	}
	return withoutNested(c), nil
}

// Drop deletes everything about a session.
func (s *Service) Drop(ctx context.Context, ws machine.Workspace) error {
	for _, dir := range s.repositories(ws) {
		if err := s.dropOne(ctx, dir); err != nil {
			return fmt.Errorf("forgetting checkpoints: %w", err)
		}
	}
	return os.RemoveAll(s.home(ws))
}

func (s *Service) dropOne(ctx context.Context, dir string) error {
	for _, name := range []string{dir + keepLock, dir} { // in the order of keep
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
func (s *Service) home(ws machine.Workspace) string {
	return filepath.Join(s.cfg.Dir, shortHash(ws.Session))
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func (s *Service) repositories(ws machine.Workspace) (dirs []string) {
	found, err := os.ReadDir(s.home(ws))
	if err != nil {
		return nil // no checkpoint exists
	}
	for _, d := range found {
		if d.IsDir() {
			dirs = append(dirs, filepath.Join(s.home(ws), d.Name()))
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
