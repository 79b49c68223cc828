package fleet_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/shell"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/local"
	far "github.com/ahphub/ahphub/hub/machine/remote"
	"github.com/ahphub/ahphub/hub/machines"
)

// noDocuments stores nothing.
type noDocuments struct{}

func (noDocuments) Put(context.Context, string, string, []byte) error              { return nil }
func (noDocuments) Delete(context.Context, string, string) error                   { return nil }
func (noDocuments) Each(context.Context, string, func(string, []byte) error) error { return nil }
func (noDocuments) Seal(value []byte) string                                       { return string(value) }
func (noDocuments) Open(sealed string) ([]byte, error)                             { return []byte(sealed), nil }
func (noDocuments) Reseal(sealed string) (value string, changed bool, err error) {
	return sealed, false, nil
}

// crew is a roster and its registry.
type crew struct {
	*fleet.Roster
	registry *machines.Registry
	changed  <-chan struct{}
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	registry, err := machines.Open(t.Context(), machines.Config{Docs: noDocuments{}, Seal: noDocuments{}})
	if err != nil {
		t.Fatal(err)
	}
	c := &crew{registry: registry, Roster: fleet.NewRoster(fleet.Config{Registry: registry,
		Log: slog.New(slog.DiscardHandler)})}
	t.Cleanup(c.Roster.Close)
	var cancel func()
	c.changed, cancel = c.Watch()
	t.Cleanup(cancel)
	return c
}

// join adds a machine to the registry.
func (c *crew) join(t *testing.T, name string) machines.Machine {
	t.Helper()
	text, _, err := c.registry.NewToken(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	invite, err := machines.ParseInvite(text)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.registry.Redeem(t.Context(), invite.Secret, name, key)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// until waits until the members satisfy is, checking after each change of the roster.
func (c *crew) until(t *testing.T, is func([]fleet.Member) bool) []fleet.Member {
	t.Helper()
	for {
		if list := c.Machines(); is(list) {
			return list
		}
		<-c.changed
	}
}

// connect serves a computer with the shell agent as a machine until cut.
func (c *crew) connect(t *testing.T, id string) (cut func()) {
	t.Helper()
	hub, computer := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	served := far.NewServer(local.New(local.WithAgents(map[string]agent.Backend{shell.Provider: shell.Backend{}})),
		far.Config{Log: slog.New(slog.DiscardHandler)})
	var wg sync.WaitGroup
	wg.Go(func() { _ = served.Serve(ctx, computer) }) // ends with ctx
	wg.Go(func() { _ = c.Serve(ctx, id, hub) })
	cut = sync.OnceFunc(func() { cancel(); wg.Wait(); served.Close() })
	t.Cleanup(cut)
	return cut
}

func TestRosterFollowsTheRegistry(t *testing.T) {
	c := newCrew(t)
	b, a := c.join(t, "b"), c.join(t, "a")
	list := c.until(t, func(l []fleet.Member) bool { return len(l) == 2 })
	if list[0].ID != a.ID || list[1].ID != b.ID || list[0].Online || list[0].Draining {
		t.Fatalf("they are %+v", list)
	}
	if len(list[0].Machine.Agents()) > 0 {
		t.Error("a machine that never connected has agents")
	}
	if err := errors.Join(c.registry.Rename(t.Context(), a.ID, "z"),
		c.registry.SetDraining(t.Context(), a.ID, true)); err != nil {
		t.Fatal(err)
	}
	again := c.until(t, func(l []fleet.Member) bool { return l[1].Name == "z" && l[1].Draining })
	if again[1].ID != a.ID || again[1].Machine != list[0].Machine {
		t.Errorf("renamed, it is %+v", again[1])
	}
	if _, err := c.registry.Revoke(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	c.until(t, func(l []fleet.Member) bool { return len(l) == 1 && l[0].ID == b.ID })
}

func TestRosterTellsWhoIsOnline(t *testing.T) {
	c := newCrew(t)
	m := c.join(t, "box2")
	before := c.until(t, func(l []fleet.Member) bool { return len(l) == 1 })[0]
	isOnline := func(l []fleet.Member) bool { return l[0].Online }
	for range 2 {
		cut := c.connect(t, m.ID)
		now := c.until(t, isOnline)[0]
		if now.Machine != before.Machine || now.Machine.Agents()[shell.Provider] == nil {
			t.Errorf("connected, it is %+v with %v", now, now.Machine.Agents())
		}
		cut()
		gone := c.until(t, func(l []fleet.Member) bool { return !isOnline(l) })[0]
		if gone.Machine.Agents()[shell.Provider] == nil {
			t.Error("offline, its agents are forgotten")
		}
		if err := gone.Machine.Forget("s"); !errors.Is(err, machine.ErrOffline) {
			t.Errorf("offline, it answers %v", err)
		}
	}
}

// Everything that a machine runs for the hub ends when it is revoked or the roster closes.
func TestRosterEndsWhatRevokedMachinesDo(t *testing.T) {
	c := newCrew(t)
	box, other := c.join(t, "box2"), c.join(t, "other")
	c.until(t, func(l []fleet.Member) bool { return len(l) == 2 })
	c.connect(t, box.ID)
	c.connect(t, other.ID)
	list := c.until(t, func(l []fleet.Member) bool { return l[0].Online && l[1].Online })
	if _, err := c.registry.Revoke(t.Context(), box.ID); err != nil {
		t.Fatal(err)
	}
	left := c.until(t, func(l []fleet.Member) bool { return len(l) == 1 })
	if !left[0].Online || left[0].ID != other.ID {
		t.Errorf("another machine is %+v", left[0])
	}
	offline(t, list[0])
	c.Roster.Close()
	offline(t, left[0])
	conn, computer := net.Pipe()
	defer computer.Close()
	if err := c.Serve(t.Context(), other.ID, conn); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed roster takes a machine: %v", err)
	}
}

// offline waits until a machine's connection has ended.
func offline(t *testing.T, m fleet.Member) {
	t.Helper()
	for !errors.Is(m.Machine.Forget("s"), machine.ErrOffline) {
		if t.Context().Err() != nil {
			return
		}
	}
}
