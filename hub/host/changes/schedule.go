package changes

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// schedule knows which changesets of a session are followed and shown, and when its directories are to be looked at.
type schedule struct {
	mu       sync.Mutex
	gone     bool             // the session was disposed
	open     map[ahp.URI]bool // channels kept up to date
	shown    map[ahp.URI]*shown
	next     wanted        // what the next look is about
	dirty    bool          // look again
	busy     bool          // a goroutine looks
	watching bool          // a goroutine watches
	took     time.Duration // the last look at everything
	found    bool          // a look found something different
	failure  error         // of the last look
	whole    int           // looks at everything
	narrow   int           // looks at what was written
}

// follow has a changeset kept up to date. slept reports that it was not; watch, that the caller has to start watching.
func (s *schedule) follow(uri ahp.URI) (slept, watch bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slept, watch = !s.open[uri], !s.watching
	s.open[uri], s.gone, s.watching = true, false, true
	return slept, watch
}

// leave lets a changeset sleep.
func (s *schedule) leave(uri ahp.URI) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, uri)
	delete(s.shown, uri)
}

// end lets every changeset of a disposed session sleep, and returns those that were followed.
func (s *schedule) end() []ahp.URI {
	s.mu.Lock()
	defer s.mu.Unlock()
	uris := slices.Sorted(maps.Keys(s.open))
	s.open, s.shown, s.gone = map[ahp.URI]bool{}, map[ahp.URI]*shown{}, true
	return uris
}

// uris returns the followed changesets.
func (s *schedule) uris() []ahp.URI {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.open))
}

// isFollowed reports whether any changeset is followed.
func (s *schedule) isFollowed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.gone && len(s.open) > 0
}

// stopWatching notes that the watching goroutine ends, unless a changeset is followed: then it has to go on.
func (s *schedule) stopWatching(over bool) (stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watching = !over && !s.gone && len(s.open) > 0
	return !s.watching
}

// request asks for a look, and reports whether the caller has to start looking.
func (s *schedule) request(w wanted) (start bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next.join(w)
	s.dirty = true
	start = !s.busy && !s.gone && len(s.open) > 0
	s.busy = s.busy || start
	return start
}

// take returns what the next look is about; more is false when none is due.
func (s *schedule) take(over bool) (w wanted, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = s.dirty && !s.gone && !over && len(s.open) > 0
	if s.busy {
		w, s.next, s.dirty = s.next, wanted{}, false
	}
	return w, s.busy
}

// requestRest leaves to the next look what the last one did not do.
func (s *schedule) requestRest(w wanted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.whole = w.whole || s.failure != nil
	s.next.join(w)
}

// noteLook notes how a look went.
func (s *schedule) noteLook(whole bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if whole {
		s.whole++
	} else {
		s.narrow++
	}
	s.failure = err
}

// lastFailure returns the error of the last look.
func (s *schedule) lastFailure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// setTook notes how long a look at everything took.
func (s *schedule) setTook(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = d
}

// lastTook returns how long the last look at everything took.
func (s *schedule) lastTook() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took
}

// takeFound reports whether anything was different since it was asked last.
func (s *schedule) takeFound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.found
	s.found = false
	return found
}

// lastShown returns what a changeset was computed from last, nil before the first time.
func (s *schedule) lastShown(uri ahp.URI) *shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown[uri]
}

// show notes what a followed changeset was computed from; again, that it was computed before.
func (s *schedule) show(uri ahp.URI, now *shown, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = s.found || again
	if s.open[uri] {
		s.shown[uri] = now
	}
}

// findShown returns the followed changesets that show a file.
func (s *schedule) findShown(path string) (uris []ahp.URI) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uri, at := range s.shown {
		if slices.ContainsFunc(at.files, func(f machine.ChangedFile) bool { return f.Name() == path }) {
			uris = append(uris, uri)
		}
	}
	return uris
}

// shown is what a changeset was computed from last, so that it is not computed again from the same.
type shown struct {
	from, to machine.Checkpoint
	all      []machine.ChangedFile // what is different between the two
	files    []machine.ChangedFile // without what other sessions did
}

func (s *shown) isCurrent(from, to machine.Checkpoint) bool {
	return s != nil && sameTrees(s.from, from) && sameTrees(s.to, to)
}

func sameTrees(a, b machine.Checkpoint) bool {
	return slices.EqualFunc(a.Trees, b.Trees, func(x, y machine.Tree) bool {
		return x.Dir == y.Dir && x.Top == y.Top && x.OID == y.OID && slices.Equal(x.Skipped, y.Skipped)
	})
}

// bases remembers what a session's changesets are compared with and what is staged, until commits or branches move. The
// zero value is ready.
type bases struct {
	mu      sync.Mutex
	of      map[string]machine.Checkpoint
	staging *machine.Staging // nil until it is read
}

func (b *bases) get(key string) (machine.Checkpoint, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok := b.of[key]
	return c, ok
}

func (b *bases) put(key string, c machine.Checkpoint) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[string]machine.Checkpoint{}
	}
	b.of[key] = c
}

func (b *bases) lastStaging() *machine.Staging {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.staging
}

func (b *bases) setStaging(s *machine.Staging) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.staging = s
}

// forget drops everything: commits or branches may have moved.
func (b *bases) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of, b.staging = nil, nil
}
