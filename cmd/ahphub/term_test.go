package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/store"
	"github.com/ahphub/ahphub/hub/telemetry"
)

// Hubs can be built over an existing store, used and dropped repeatedly in one process: nothing of
// a hub remains, and the next one has its data.
func TestHubOfATermLeavesNothing(t *testing.T) {
	data := isolate(t)
	cfg := Config{Listen: "127.0.0.1:0", Data: data, Agent: "shell", LogFormat: "text", LogLevel: "error"}
	set, err := cfg.check()
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen(cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tel := telemetry.New(telemetry.Config{Name: "ahphub", Version: "test"})
	log := newLog(os.Stderr, cfg.LogFormat, cfg.LogLevel, tel.Hidden, tel.Handler())
	s, err := store.Open(t.Context(), storeConfig(cfg, log, tel))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer s.Maintain()()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	led := &leading{store: s, append: func(batch []byte) func() error {
		err := s.ApplyMarked(s.Position()+1, []byte("mark"), batch)
		return func() error { return err }
	}, confirm: func() error { return nil }}
	var last int64
	for round := range 3 {
		a, err := build(t.Context(), cfg, set, l, log, tel, led)
		if err != nil {
			t.Fatal(err)
		}
		if sessions := len(a.summaries()); sessions != round {
			t.Errorf("hub %d has %d sessions", round, sessions)
		}
		if seq := a.hub.Seq(); seq < last {
			t.Errorf("hub %d begins at number %d, and %d was used", round, seq, last)
		}
		ctx, stop := context.WithCancel(t.Context())
		if err := a.serve(ctx, func(ctx context.Context) error {
			defer stop()
			return useHub(ctx, t, a)
		}); err != nil {
			t.Error(err)
		}
		last = a.hub.Seq()
		if err := a.close(); err != nil {
			t.Error(err)
		}
	}
}

// useHub starts a session whose agent keeps working when the hub is dropped, through a listener
// that is not the hub's.
func useHub(ctx context.Context, t *testing.T, a *app) error {
	at := a.web.Attach()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !at.Serve(w, r) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer front.Close()
	client := front.Client()
	defer client.CloseIdleConnections()
	if status, err := get(ctx, client, front.URL+"/readyz"); err != nil || status != http.StatusOK {
		t.Errorf("ready: %d, %v", status, err)
	}
	who := core.Caller{Principal: a.owner, ClientID: "test"}
	session := ahp.URI("ahp-session:/" + ids.New())
	if err := a.host.CreateSession(ctx, who, ahp.CreateSessionParams{Channel: session}); err != nil {
		return err
	}
	if err := a.prompt(ctx, who, session, "sleep 600"); err != nil {
		return err
	}
	at.Detach()
	status, err := get(ctx, client, front.URL+"/readyz")
	if status != http.StatusServiceUnavailable {
		t.Errorf("a server that is detached answers %d", status)
	}
	return err
}

func get(ctx context.Context, client *http.Client, url string) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, errors.Join(err, res.Body.Close())
}
