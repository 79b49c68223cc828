package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/ids"
)

// requestID gives each request an id of ours, under the key that chi's GetReqID reads; ids from
// clients are ignored.
func (s *Server) requestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), middleware.RequestIDKey, ids.NewShort())
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// clientIP sets the client's address: behind trusted proxies, the last address that they did not
// add themselves. A request of the proxy itself, such as a health check, has the proxy's.
func (s *Server) clientIP() func(http.Handler) http.Handler {
	if len(s.cfg.Proxies) == 0 {
		return middleware.ClientIPFromRemoteAddr
	}
	var trusted []string
	for _, p := range s.cfg.Proxies {
		trusted = append(trusted, p.String())
	}
	byHeader := middleware.ClientIPFromXFF(trusted...)
	return func(next http.Handler) http.Handler {
		byPeer := middleware.ClientIPFromRemoteAddr(next)
		return byHeader(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if middleware.GetClientIP(r.Context()) == "" {
				byPeer.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		}))
	}
}

// seen carries the principal from the handler back to the access log around it.
type seen struct{ who access.Principal }

type seenKey struct{}

func (s *Server) accessLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		note := &seen{}
		ctx := audit.WithOrigin(context.WithValue(r.Context(), seenKey{}, note), middleware.GetClientIP(r.Context()))
		ctx, span := s.cfg.Tracer.Start(ctx, "http", spanOfRequest...)
		r = r.WithContext(ctx)
		next.ServeHTTP(wrapped, r)
		status := wrapped.Status()
		if status == 0 {
			status = http.StatusOK
		}
		route := chi.RouteContext(r.Context()).RoutePattern()
		stream := status == http.StatusSwitchingProtocols || r.Header.Get("Upgrade") != "" ||
			wrapped.Header().Get("Content-Type") == "text/event-stream"
		s.counters.request(r.Method, route, status, time.Since(start), stream)
		endSpan(span, r.Method, route, status)
		level := slog.LevelInfo
		if status < 400 && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			level = slog.LevelDebug
		}
		s.cfg.Log.LogAttrs(r.Context(), level, "request",
			slog.String("method", r.Method), slog.String("path", access.LoggedAddress(r.URL)),
			slog.Int("status", status),
			slog.Int("bytes", wrapped.BytesWritten()), slog.Duration("took", time.Since(start)),
			slog.String("from", middleware.GetClientIP(r.Context())), slog.Any("who", note.who),
			slog.String("request", middleware.GetReqID(r.Context())))
	})
}

// audit records a form before it is handled, and its outcome, if the form is audited.
func (s *Server) audit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route := r.Method + " " + chi.RouteContext(r.Context()).RoutePattern()
		ctx, call, err := s.cfg.Audit.BeginForm(r.Context(), access.FromContext(r.Context()), route,
			access.LoggedPath(r.URL.Path))
		if err != nil {
			s.unavailable(w, r, err)
			return
		}
		if call == nil {
			next.ServeHTTP(w, r)
			return
		}
		wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		ended := errPanicked
		defer func() { call.Done(context.WithoutCancel(ctx), ended) }()
		next.ServeHTTP(wrapped, r.WithContext(ctx))
		if ended = nil; wrapped.Status() >= 500 {
			ended = errFailed
		} else if wrapped.Status() >= 400 {
			ended = errRefused
		}
	})
}

var (
	errPanicked = errors.New("the handler panicked")
	errRefused  = audit.Refusal(errors.New("the form was refused"))
	errFailed   = errors.New("the handler failed")
)

// recover turns a panic into an error page with the request's id and a log entry with the cause;
// the server continues.
func (s *Server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause == http.ErrAbortHandler {
				panic(cause)
			}
			s.cfg.Log.ErrorContext(r.Context(), "a handler panicked", "request", middleware.GetReqID(r.Context()),
				"path", access.LoggedPath(r.URL.Path), "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			if ww, ok := w.(middleware.WrapResponseWriter); ok && ww.Status() != 0 {
				panic(http.ErrAbortHandler) // part of the answer was sent: abort the connection
			}
			s.fail(w, r, http.StatusInternalServerError,
				"Give your admin this error ID:")
		}()
		next.ServeHTTP(w, r)
	})
}

// checkHost refuses host names that are not ours (DNS rebinding).
func (s *Server) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hasCheckedHost(r) && !s.hosts.allows(r) {
			refuseHost(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// bound limits the size of a form's body and the time it may take to arrive.
func (s *Server) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			r.Body = http.MaxBytesReader(w, r.Body, s.cfg.Limits.Body)
			// not every writer supports it
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.cfg.Limits.Read))
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses forms sent by another site's page.
func (s *Server) sameOrigin(next http.Handler) http.Handler {
	p := http.NewCrossOriginProtection()
	if u := s.cfg.PublicURL; u != nil {
		_ = p.AddTrustedOrigin(u.Scheme + "://" + u.Host) // checked with the flag
	}
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, http.StatusForbidden,
			"This form was sent from another site. Open the page on this server and send it again.")
	}))
	return p.Handler(next)
}
