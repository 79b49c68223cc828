package site

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a-h/templ"
)

var errTemplate = errors.New("the template fails")

// bodyOf returns a component of a size that waits, and fails, at its end.
func bodyOf(bytes int, wait chan struct{}, err error) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		for range bytes / 100 {
			if _, err := io.WriteString(w, strings.Repeat("x", 100)); err != nil {
				return err
			}
		}
		if wait != nil {
			<-wait
		}
		return err
	})
}

func TestSmallPageThatFailsSendsNothing(t *testing.T) {
	w := httptest.NewRecorder()
	if err := Send(w, http.StatusOK, bodyOf(10_000, nil, errTemplate)); !errors.Is(err, errTemplate) {
		t.Errorf("got %v", err)
	}
	if w.Body.Len() != 0 || w.Header().Get("Content-Type") != "" {
		t.Errorf("%d bytes were sent", w.Body.Len())
	}
}

// The browser gets the beginning of a large page before the rest is rendered.
func TestLargePageBeginsEarly(t *testing.T) {
	rest := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := Send(w, http.StatusAccepted, bodyOf(1_000_000, rest, nil)); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	res, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadFull(res.Body, make([]byte, 900_000)); err != nil || res.StatusCode != http.StatusAccepted {
		t.Errorf("status %d, %v", res.StatusCode, err)
	}
	close(rest)
	if left, err := io.ReadAll(res.Body); err != nil || len(left) != 100_000 {
		t.Errorf("%d more bytes, %v", len(left), err)
	}
}

// A browser must not mistake half a page for the whole.
func TestLargePageThatFailsIsCutOff(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer func() {
			if recover() == nil {
				t.Error("half a page is a success")
			}
			panic(http.ErrAbortHandler) // like the server's middleware
		}()
		_ = Send(w, http.StatusOK, bodyOf(1_000_000, nil, errTemplate))
	}))
	defer s.Close()
	res, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the page seems to be whole")
	}
}

// An answer that waits for the disk does not start earlier.
func TestHeldAnswerIsNotFlushed(t *testing.T) {
	w := httptest.NewRecorder()
	held := &heldAnswer{ResponseWriter: w, header: http.Header{}, status: http.StatusOK}
	if err := Send(held, http.StatusOK, bodyOf(1_000_000, nil, nil)); err != nil || w.Flushed || w.Body.Len() > 0 {
		t.Errorf("%v; flushed %v, %d bytes", err, w.Flushed, w.Body.Len())
	}
	held.release()
	if w.Body.Len() != 1_000_000 || w.Code != http.StatusOK {
		t.Errorf("%d: %d bytes", w.Code, w.Body.Len())
	}
}
