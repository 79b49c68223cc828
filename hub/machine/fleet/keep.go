package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/kept"
)

// Kept stores versions of members' files; kept.Store implements it.
type Kept interface {
	Get(ctx context.Context, session, oid string) (data []byte, ok bool, err error)
	Lacking(ctx context.Context, session string, files []machine.ChangedFile) ([]kept.Wanted, error)
	Put(ctx context.Context, session string, contents map[string][]byte) error
	Drop(ctx context.Context, session string) error
}

const (
	mostComparisons = 1000            // waiting to be kept
	keepPause       = time.Second     // between rounds: comparisons with the same start in between are kept once
	keepPatience    = 2 * time.Minute // timeout of one comparison
	keepBytes       = 4 << 20         // limit of one request
	keepVersions    = 256
	mostPutting     = 4
	putPatience     = 10 * time.Second
)

// keeper stores both sides of members' comparisons on the hub, in the background.
type keeper struct {
	store Kept
	log   *slog.Logger
	ctx   context.Context // ends with Close
	ended sync.WaitGroup

	mu      sync.Mutex
	waiting map[comparison]compared
	running bool
	putting int // calls of seen
}

// comparison identifies a comparison: a later one with the same start replaces it.
type comparison struct{ session, from string }

type compared struct {
	site  site
	files []machine.ChangedFile
}

// keep queues the versions of changed files to be stored.
func (k *keeper) keep(session string, from machine.Checkpoint, s site, files []machine.ChangedFile) {
	if k.store == nil || s.id == "" || len(files) == 0 {
		return
	}
	name := comparison{session: session}
	for _, t := range from.Trees {
		name.from += t.Top + " " + t.OID + "\n"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		return
	}
	if _, known := k.waiting[name]; !known && len(k.waiting) >= mostComparisons {
		return // it is kept when it is compared again
	}
	if k.waiting == nil {
		k.waiting = map[comparison]compared{}
	}
	k.waiting[name] = compared{s, files}
	if !k.running {
		k.running = true
		k.ended.Go(k.run)
	}
}

// close waits for running work, once the context has ended.
func (k *keeper) close() {
	k.mu.Lock()
	k.waiting = nil // nothing starts any more
	k.mu.Unlock()
	k.ended.Wait()
}

// run stores queued comparisons until the queue is empty.
func (k *keeper) run() {
	for {
		k.mu.Lock()
		round := k.waiting
		k.waiting = nil
		k.running = len(round) > 0 && k.ctx.Err() == nil
		k.mu.Unlock()
		if len(round) == 0 || k.ctx.Err() != nil {
			return
		}
		for name, c := range round {
			if err := k.keepNow(name.session, c); err != nil && k.ctx.Err() == nil && !errors.Is(err, machine.ErrOffline) {
				k.log.Warn("versions of files were not kept: while their machine is offline they cannot be reviewed",
					"session", name.session, "machine", c.site.name, "err", err)
			}
		}
		select {
		case <-time.After(keepPause):
		case <-k.ctx.Done():
		}
	}
}

func (k *keeper) keepNow(session string, c compared) error {
	ctx, cancel := context.WithTimeout(k.ctx, keepPatience)
	defer cancel()
	lacking, err := k.store.Lacking(ctx, session, c.files)
	for err == nil && len(lacking) > 0 {
		var some []string
		for bytes := int64(0); len(some) < len(lacking) && len(some) < keepVersions && bytes < keepBytes; {
			next := lacking[len(some)]
			some, bytes = append(some, next.OID), bytes+max(0, next.Size)
		}
		lacking = lacking[len(some):]
		err = k.store.Put(ctx, session, c.site.contents(ctx, some))
	}
	return err
}

// seen stores versions that a viewer reads, at once and without delaying the viewer. While many versions are being
// stored, it leaves them to the rounds.
func (k *keeper) seen(session string, s site, contents map[string][]byte) {
	if k.store == nil || s.id == "" || len(contents) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil || k.putting >= mostPutting {
		return
	}
	k.putting++
	k.ended.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), putPatience) // the data is here already
		defer cancel()
		if err := k.store.Put(ctx, session, contents); err != nil {
			k.log.Warn("versions of files were not kept", "session", session, "machine", s.name, "err", err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.putting--
	})
}

// contents reads versions at once, and drops those that do not match their name.
func (s site) contents(ctx context.Context, oids []string) map[string][]byte {
	all := s.Changes.Contents(ctx, s.ws, oids)
	for oid, data := range all {
		if !s.isNamed(oid, data) {
			delete(all, oid)
		}
	}
	return all
}

// get returns a kept version.
func (k *keeper) get(ctx context.Context, session, oid string) ([]byte, bool) {
	if k.store == nil {
		return nil, false
	}
	data, ok, err := k.store.Get(ctx, session, oid)
	if err != nil {
		k.log.Warn("a kept version cannot be read", "session", session, "version", oid, "err", err)
	}
	return data, ok && err == nil
}

// unkeptError reports that only an offline machine has a version.
type unkeptError struct{ error }

func (e unkeptError) Error() string {
	return fmt.Sprintf("%v. Of each session the newest %d MiB are kept here, and of each file up to %d MiB", e.error,
		kept.MostBytes>>20, kept.MostVersion>>20)
}

func (e unkeptError) Unwrap() error { return e.error }
