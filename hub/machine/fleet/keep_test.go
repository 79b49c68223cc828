package fleet_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/kept"
	"github.com/ahphub/ahphub/hub/machine/localtest"
)

// memory is a store of versions that reports stored versions.
type memory struct {
	*kept.Store
	put chan int
}

func (m *memory) Put(ctx context.Context, session string, contents map[string][]byte) error {
	err := m.Store.Put(ctx, session, contents)
	m.put <- len(contents)
	return err
}

// documents stores documents in memory.
type documents struct {
	mu  sync.Mutex
	all map[string][]byte
}

func (d *documents) Get(_ context.Context, _, key string) ([]byte, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := d.all[key]
	return v, ok, nil
}

func (d *documents) PutAll(_ context.Context, _ string, values map[string][]byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, v := range values {
		if d.all[key] = v; v == nil {
			delete(d.all, key)
		}
	}
	return nil
}

// newKeeping returns a pair whose route keeps versions, and the files compared in a session on the member: a.txt, whose
// second side is new.
func newKeeping(t *testing.T, change func(machine.Machine) machine.Machine) (
	p *pair, m *memory, ws machine.Workspace, files []machine.ChangedFile,
) {
	t.Helper()
	p = newJoined(t)
	store, err := kept.New(&documents{all: map[string][]byte{}})
	if err != nil {
		t.Fatal(err)
	}
	m = &memory{store, make(chan int, 10)}
	p.member.Machine = change(p.member.Machine)
	p.Route = fleet.NewRoute(localtest.New(t, p.data), p, fleet.WithKept(m, slog.New(slog.DiscardHandler)))
	t.Cleanup(p.Route.Close)
	ws = machine.Workspace{Session: "s", Dirs: []string{remote(p.there)}}
	before, err := p.Changes().Checkpoint(t.Context(), ws, ws.Dirs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.there, "a.txt"), []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	after, err := p.Changes().Checkpoint(t.Context(), ws, ws.Dirs)
	if err != nil {
		t.Fatal(err)
	}
	files, err = p.Changes().Compare(t.Context(), ws, before, after)
	if err != nil || len(files) != 1 {
		t.Fatalf("changed are %+v, %v", files, err)
	}
	return p, m, ws, files
}

// Versions that were compared while a member was connected can be read while it is offline.
func TestComparedVersionsAreKept(t *testing.T) {
	p, m, ws, files := newKeeping(t, func(m machine.Machine) machine.Machine { return m })
	if n := <-m.put; n != 2 {
		t.Fatalf("%d versions are kept", n)
	}
	p.member.Online = false
	old, err := p.Changes().Content(t.Context(), ws, files[0].OldOID)
	if err != nil || string(old) != "one\n" {
		t.Errorf("the old side is %q, %v", old, err)
	}
	all := p.Changes().Contents(t.Context(), ws, []string{files[0].NewOID, strings.Repeat("0", 40)})
	if len(all) != 1 || string(all[files[0].NewOID]) != "two\n" {
		t.Errorf("the new sides are %q", all)
	}
	_, err = p.Changes().Content(t.Context(), ws, strings.Repeat("0", 40))
	if !errors.Is(err, machine.ErrOffline) || !strings.Contains(err.Error(), "box2 is offline") ||
		!strings.Contains(err.Error(), "newest 64 MiB") {
		t.Errorf("what is not kept is refused with %v", err)
	}
	other := machine.Workspace{Session: "other", Dirs: ws.Dirs}
	if data, err := p.Changes().Content(t.Context(), other, files[0].OldOID); err == nil {
		t.Errorf("another session reads %q", data)
	}
}

// lyingContents is a member that sends wrong versions.
type lyingContents struct{ machine.Machine }

func (l lyingContents) Changes() machine.Changes { return wrongContents{l.Machine.Changes()} }

type wrongContents struct{ machine.Changes }

func (wrongContents) Contents(_ context.Context, _ machine.Workspace, oids []string) map[string][]byte {
	out := map[string][]byte{}
	for _, oid := range oids {
		out[oid] = []byte("evil")
	}
	return out
}

func TestWrongVersionsAreNotKept(t *testing.T) {
	_, m, ws, files := newKeeping(t, func(m machine.Machine) machine.Machine { return lyingContents{m} })
	if n := <-m.put; n != 0 {
		t.Errorf("%d versions are kept", n)
	}
	if _, ok, err := m.Get(t.Context(), ws.Session, files[0].NewOID); ok || err != nil {
		t.Errorf("a wrong version is kept: %v", err)
	}
}

// A session's versions are deleted with it, even while its member is offline.
func TestKeptVersionsAreDroppedWithTheirSession(t *testing.T) {
	p, m, ws, files := newKeeping(t, func(m machine.Machine) machine.Machine { return m })
	<-m.put
	p.member.Online = false
	_ = p.Changes().Drop(t.Context(), ws) // the member's own part fails
	if _, ok, err := m.Get(t.Context(), ws.Session, files[0].NewOID); ok || err != nil {
		t.Errorf("it is still kept: %v", err)
	}
}

// emptyOnce is a member that sends no versions on the first request.
type emptyOnce struct {
	machine.Machine
	asked *atomic.Bool
}

func (e emptyOnce) Changes() machine.Changes { return laterContents{e.Machine.Changes(), e.asked} }

type laterContents struct {
	machine.Changes
	asked *atomic.Bool
}

func (l laterContents) Contents(ctx context.Context, ws machine.Workspace, oids []string) map[string][]byte {
	if !l.asked.Swap(true) {
		return nil
	}
	return l.Changes.Contents(ctx, ws, oids)
}

// Versions that are read are kept, even if they were not kept when they were compared.
func TestSeenVersionsAreKept(t *testing.T) {
	p, m, ws, files := newKeeping(t, func(m machine.Machine) machine.Machine { return emptyOnce{m, new(atomic.Bool)} })
	if n := <-m.put; n != 0 {
		t.Fatalf("%d versions are kept", n)
	}
	if data, err := p.Changes().Content(t.Context(), ws, files[0].OldOID); err != nil || string(data) != "one\n" {
		t.Fatalf("the old side is %q, %v", data, err)
	}
	if all := p.Changes().Contents(t.Context(), ws, []string{files[0].NewOID}); string(all[files[0].NewOID]) != "two\n" {
		t.Fatalf("the new sides are %q", all)
	}
	p.Route.Close() // waits for running work
	for _, oid := range []string{files[0].OldOID, files[0].NewOID} {
		if _, ok, err := m.Get(t.Context(), ws.Session, oid); !ok || err != nil {
			t.Errorf("a version that was looked at is not kept: %v", err)
		}
	}
}
