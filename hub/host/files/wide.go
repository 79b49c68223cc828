package files

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

const (
	wideFor  = time.Minute // cache lifetime for pages, as a symbolic link may change
	mostWide = 1000        // cached answers
)

// wide caches for pages which directories contain everything of their owner. The zero value is
// ready to use.
type wide struct {
	mu      sync.Mutex
	answers map[string]wideAnswer // by directories
}

type wideAnswer struct {
	wide  bool
	until time.Time
}

// IsWide reports whether a session works in a directory that contains everything of its owner, for
// a warning on pages. It caches answers for a minute; checks of guests' access are not cached.
func (p *Part) IsWide(dirs []ahp.URI) bool {
	paths := core.LocalPaths(dirs)
	if answer, ok := p.wide.get(paths, p.core.Now()); ok {
		return answer
	}
	return p.checkWide(p.core.Ctx, paths)
}

// checkWide checks with the computer whether directories contain everything of their owner.
func (p *Part) checkWide(ctx context.Context, paths []string) bool {
	answer := p.cfg.Files.IsWide(ctx, paths)
	if ctx.Err() == nil {
		p.wide.put(paths, wideAnswer{answer, p.core.Now().Add(wideFor)})
	}
	return answer
}

func (w *wide) get(paths []string, now time.Time) (answer, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.answers[strings.Join(paths, "\x00")]
	return a.wide, ok && now.Before(a.until)
}

func (w *wide) put(paths []string, a wideAnswer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answers == nil || len(w.answers) >= mostWide {
		w.answers = map[string]wideAnswer{}
	}
	w.answers[strings.Join(paths, "\x00")] = a
}
