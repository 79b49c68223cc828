package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	endpoint "github.com/ahphub/ahphub/handlers/machines"
	"github.com/ahphub/ahphub/hub/agent/shell"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/join"
	"github.com/ahphub/ahphub/hub/machines"
)

// machineDocs stores documents in memory.
type machineDocs struct {
	mu   sync.Mutex
	docs map[[2]string][]byte
}

func (d *machineDocs) Put(_ context.Context, bucket, key string, value []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.docs[[2]string{bucket, key}] = value
	return nil
}

func (d *machineDocs) Delete(_ context.Context, bucket, key string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.docs, [2]string{bucket, key})
	return nil
}

func (d *machineDocs) Each(_ context.Context, bucket string, visit func(key string, value []byte) error) error {
	return nil // it starts empty
}

type openSeal struct{}

func (openSeal) Seal(value []byte) string                   { return string(value) }
func (openSeal) Open(sealed string) ([]byte, error)         { return []byte(sealed), nil }
func (openSeal) Reseal(sealed string) (string, bool, error) { return sealed, false, nil }

// joinWorld is a hub's side of machines, over real sockets.
type joinWorld struct {
	registry *machines.Registry
	roster   *fleet.Roster
	url      *url.URL
}

func newJoinWorld(t testing.TB) *joinWorld {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	w := &joinWorld{}
	var err error
	w.registry, err = machines.Open(t.Context(), machines.Config{Docs: &machineDocs{docs: map[[2]string][]byte{}},
		Seal: openSeal{}})
	if err != nil {
		t.Fatal(err)
	}
	w.roster = fleet.NewRoster(fleet.Config{Registry: w.registry, Log: log})
	a := &app{log: log, roster: w.roster}
	e, err := endpoint.New(endpoint.Config{Registry: w.registry, Log: log, Name: func(string) string { return "" },
		Serve: a.useMachine})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(e)
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		w.roster.Close()
		server.Close()
	})
	w.url, err = url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// join runs `ahphub join`; the returned channel gets its error.
func (w *joinWorld) join(t testing.TB, dir string, change ...func(*joined)) <-chan error {
	t.Helper()
	text, _, err := w.registry.NewToken(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	invite, err := machines.ParseInvite(text)
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	m := &joined{request: join.Request{Hub: w.url, HubKey: invite.Hub, Invite: &invite, Key: key, Name: "box2"},
		path: filepath.Join(data, "machine", "id.json"), stdout: new(strings.Builder), stderr: new(strings.Builder),
		data: data, dirs: []string{dir}}
	for _, c := range change {
		c(m)
	}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer m.close()
		ended <- m.keep(ctx)
	}()
	t.Cleanup(cancel)
	return ended
}

// member waits until the hub has one machine that matches.
func (w *joinWorld) member(t testing.TB, what string, is func([]fleet.Member) bool) []fleet.Member {
	t.Helper()
	changed, cancel := w.roster.Watch()
	defer cancel()
	timeout := time.After(time.Minute)
	for {
		list := w.roster.Machines()
		if is(list) {
			return list
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("%s: the members are %+v", what, list)
		}
	}
}

func isOnline(list []fleet.Member) bool { return len(list) == 1 && list[0].Online }

// A computer that joins over real sockets runs programs for the hub in its open directories, keeps
// its identity when it is renamed, and ends everything once it is revoked.
func TestJoinedMachineWorksForItsHub(t *testing.T) {
	w := newJoinWorld(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ended := w.join(t, dir)
	box := w.member(t, "joining", isOnline)[0]
	if box.Name != "box2" || box.Machine.Agents()[shell.Provider] == nil {
		t.Fatalf("the member is %+v with %v", box, box.Machine.Agents())
	}
	p, err := box.Machine.Terminals().Start(t.Context(), machine.TerminalSpec{Dir: dir,
		Command: []string{"sh", "-c", "echo there > made.txt; exec cat"}}, func([]ahp.Action) {})
	if err != nil {
		t.Fatal(err)
	}
	reach := machine.FileReach{Roots: []string{dir}}
	waitUntil(t, "the program writes", func() bool {
		got, err := box.Machine.Files().Read(t.Context(), reach, ahp.URI("file://"+dir+"/made.txt"))
		return err == nil && string(got.Data) == "there\n"
	})
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "a.txt"), []byte("private"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = box.Machine.Files().Read(t.Context(), machine.FileReach{Roots: []string{outside}},
		ahp.URI("file://"+outside+"/a.txt"))
	if err == nil || !strings.Contains(err.Error(), "box2") {
		t.Errorf("a file outside: %v", err)
	}
	if err := w.registry.Rename(t.Context(), box.ID, "builder"); err != nil {
		t.Fatal(err)
	}
	again := w.member(t, "renaming", func(l []fleet.Member) bool { return isOnline(l) && l[0].Name == "builder" })[0]
	if again.Machine != box.Machine {
		t.Error("renaming makes another machine")
	}
	if _, err := w.registry.Revoke(t.Context(), box.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if refused, ok := errors.AsType[*join.RefusedError](err); !ok || !strings.Contains(refused.Error(), "revoked") {
			t.Errorf("joining ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("a revoked machine goes on")
	}
	w.member(t, "revoking", func(l []fleet.Member) bool { return len(l) == 0 })
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Error("the hub keeps a terminal of a machine that was revoked")
	}
}

func waitUntil(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it does not", what)
		}
	}
}
