package changes

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// schedule tracks which of a session's changesets are followed and shown, and when to look at its
// directories.
type schedule struct {
	mu       sync.Mutex
	gone     bool             // the session was disposed
	open     map[ahp.URI]bool // channels kept up to date
	shown    map[ahp.URI]*shown
	next     lookRequest   // parameters of the next look
	dirty    bool          // another look is requested
	busy     bool          // a goroutine is looking
	watching bool          // a goroutine is watching
	took     time.Duration // duration of the last look at everything
	found    bool          // a look found a difference
	failure  error         // of the last look
	whole    int           // number of looks at everything
	narrow   int           // number of looks at written files only
}

// follow adds a changeset. slept reports whether it was not followed; watch whether the caller has
// to start watching.
func (s *schedule) follow(uri ahp.URI) (slept, watch bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slept, watch = !s.open[uri], !s.watching
	s.open[uri], s.gone, s.watching = true, false, true
	return slept, watch
}

// leave removes a changeset.
func (s *schedule) leave(uri ahp.URI) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, uri)
	delete(s.shown, uri)
}

// end removes all changesets of a disposed session, and returns those that were followed.
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

// stopWatching records the end of the watching goroutine. It returns false if the goroutine has to
// continue, because a changeset is followed.
func (s *schedule) stopWatching(over bool) (stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watching = !over && !s.gone && len(s.open) > 0
	return !s.watching
}

// request requests a look, and reports whether the caller has to start looking.
func (s *schedule) request(w lookRequest) (start bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next.join(w)
	s.dirty = true
	start = !s.busy && !s.gone && len(s.open) > 0
	s.busy = s.busy || start
	return start
}

// take returns the parameters of the next look; more is false if none is requested.
func (s *schedule) take(over bool) (w lookRequest, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = s.dirty && !s.gone && !over && len(s.open) > 0
	if s.busy {
		w, s.next, s.dirty = s.next, lookRequest{}, false
	}
	return w, s.busy
}

// requeueUnfinished adds to the next look what the last one did not do.
func (s *schedule) requeueUnfinished(w lookRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.whole = w.whole || s.failure != nil
	s.next.join(w)
}

// noteLook records the result of a look.
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

// setTook records the duration of a look at everything.
func (s *schedule) setTook(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = d
}

// lastTook returns the duration of the last look at everything.
func (s *schedule) lastTook() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took
}

// takeFound reports whether a look found a difference since the last call.
func (s *schedule) takeFound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.found
	s.found = false
	return found
}

// lastShown returns the last computation of a changeset, or nil.
func (s *schedule) lastShown(uri ahp.URI) *shown {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown[uri]
}

// show records a computation of a followed changeset. again reports that an earlier one had other
// checkpoints.
func (s *schedule) show(uri ahp.URI, now *shown, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = s.found || again
	if s.open[uri] {
		s.shown[uri] = now
	}
}

// findShown returns the followed changesets that contain a file.
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

// shown is the last computation of a changeset, which is reused while its checkpoints are
// unchanged.
type shown struct {
	from, to machine.Checkpoint
	all      []machine.ChangedFile // the differences between from and to
	files    []machine.ChangedFile // without other sessions' changes
}

func (s *shown) isCurrent(from, to machine.Checkpoint) bool {
	return s != nil && sameTrees(s.from, from) && sameTrees(s.to, to)
}

func sameTrees(a, b machine.Checkpoint) bool {
	return slices.EqualFunc(a.Trees, b.Trees, func(x, y machine.Tree) bool {
		return x.Dir == y.Dir && x.Top == y.Top && x.OID == y.OID && slices.Equal(x.Skipped, y.Skipped)
	})
}

// bases caches the checkpoints that a session's changesets are compared with, and what is staged,
// until commits or branches change. The zero value is ready to use.
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

// forget clears the cache after commits or branches may have changed.
func (b *bases) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of, b.staging = nil, nil
}
