package web

import (
	"context"
	"net/http"
	"strings"
)

// answerHead answers HEAD as GET: the server sends the headers and drops the body. A stream ends once
// it has sent its headers.
func answerHead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.Header.Get("Upgrade") != "" {
			next.ServeHTTP(w, r)
			return
		}
		ctx, stop := context.WithCancel(r.Context())
		defer stop()
		r = r.WithContext(ctx)
		r.Method = http.MethodGet
		next.ServeHTTP(&headWriter{w, stop}, r)
	})
}

// headWriter ends the request of a stream of events when its handler flushes.
type headWriter struct {
	http.ResponseWriter
	stop func()
}

// FlushError sends the headers, and ends the request of a stream.
func (w *headWriter) FlushError() error {
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		w.stop()
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush is FlushError without the error.
func (w *headWriter) Flush() { _ = w.FlushError() }

// Unwrap returns the writer of the server, for deadlines.
func (w *headWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
