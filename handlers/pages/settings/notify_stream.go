package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/notify"
)

// quiet is the interval of keep-alive comments.
const quiet = 25 * time.Second

// shown is a notice as sent to a page's script.
type shown struct {
	ID      string      `json:"id"`
	Kind    notify.Kind `json:"kind"`
	Session string      `json:"session"`
	Title   string      `json:"title"`
	Text    string      `json:"text,omitempty"`
	Path    string      `json:"path"`
}

// StreamNotices serves GET /notifications/stream: server-sent events for the one tab of a browser that holds a lock.
// It ends when the visitor is signed out or their link ends.
func (p *Pages) StreamNotices(w http.ResponseWriter, r *http.Request) error {
	after := r.Header.Get("Last-Event-ID")
	if after == "" {
		after = r.URL.Query().Get("after")
	}
	leave, err := p.Live.CountStream(access.FromContext(r.Context()))
	if err != nil {
		return err
	}
	defer leave()
	s, ok := p.Notify.Follow(after)
	if !ok {
		return live.ErrBusy
	}
	defer s.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // keep proxies from buffering
	out := http.NewResponseController(w)
	if _, err := fmt.Fprint(w, "retry: 3000\n\n"); err != nil || out.Flush() != nil {
		return nil // the client disconnected
	}
	p.tellNotices(r.Context(), w, out, s)
	return nil
}

func (p *Pages) tellNotices(ctx context.Context, w http.ResponseWriter, out *http.ResponseController,
	s *notify.Stream) {
	who := access.FromContext(ctx)
	alive := time.NewTicker(quiet)
	defer alive.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-alive.C:
			_, err = fmt.Fprint(w, ": here\n\n")
		case next, open := <-s.C:
			if !open {
				return // the client reconnects with its last event id
			}
			x, ok := p.Notify.Shown(ctx, who, *next)
			if !ok {
				continue
			}
			b, _ := json.Marshal(shown{x.ID, x.Kind, x.Short, x.Heading(), x.Text, x.Path}) // strings always encode
			_, err = fmt.Fprintf(w, "id: %s\ndata: %s\n\n", x.ID, b)
		}
		if err != nil || out.Flush() != nil {
			return
		}
	}
}
