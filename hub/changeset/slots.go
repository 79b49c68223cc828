package changeset

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// slots bounds the number of concurrent git programs: in total, and for each repository, so that
// one whose files block git does not block others.
type slots struct {
	all chan struct{}

	mu  sync.Mutex
	own map[string]*ownSlots // by repository
}

type ownSlots struct {
	free  chan struct{}
	users int // hold or wait for a slot
}

// mostOfOne is how many slots one repository can take.
const mostOfOne = 2

func newSlots(n int) *slots {
	return &slots{all: make(chan struct{}, n), own: map[string]*ownSlots{}}
}

// take waits for a slot. Programs of the same repository queue among themselves first.
func (s *slots) take(ctx context.Context, repository string) (release func(), err error) {
	own := s.join(repository)
	leave := func() { s.leave(repository, own) }
	if err := acquire(ctx, own.free); err != nil {
		leave()
		return nil, err
	}
	if err := acquire(ctx, s.all); err != nil {
		<-own.free
		leave()
		return nil, err
	}
	return func() { <-s.all; <-own.free; leave() }, nil
}

func acquire(ctx context.Context, slot chan struct{}) error {
	select {
	case slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *slots) join(repository string) *ownSlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.own[repository]
	if own == nil {
		own = &ownSlots{free: make(chan struct{}, min(mostOfOne, cap(s.all)))}
		s.own[repository] = own
	}
	own.users++
	return own
}

func (s *slots) leave(repository string, own *ownSlots) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(s.own, repository)
	}
}

// slotKey identifies the repository that a program runs for, by device and inode of its common git
// directory, or of the directory itself.
func (src source) slotKey() string {
	dir := src.common
	if dir == "" {
		dir = borrowedFrom(src.top)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return dir
	}
	if dev, ino := fileID(info); ino != 0 {
		return fmt.Sprint(dev, " ", ino)
	}
	return dir
}

// borrowedFrom returns the common git directory whose objects a private repository uses, and any
// other directory unchanged.
func borrowedFrom(dir string) string {
	data, err := readPlain(filepath.Join(dir, "objects", "info", "alternates"), mostPointer)
	if objects := strings.TrimSpace(string(data)); err == nil && objects != "" {
		return filepath.Dir(objects)
	}
	return dir
}
