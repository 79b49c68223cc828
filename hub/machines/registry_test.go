package machines_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"maps"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/machines"
)

// memory stores documents.
type memory struct {
	mu   sync.Mutex
	docs map[string][]byte
	fail error
}

func (m *memory) Put(_ context.Context, bucket, key string, v []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		m.docs[bucket+"/"+key] = bytes.Clone(v)
	}
	return m.fail
}

func (m *memory) Delete(_ context.Context, bucket, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail == nil {
		delete(m.docs, bucket+"/"+key)
	}
	return m.fail
}

func (m *memory) Each(_ context.Context, bucket string, visit func(string, []byte) error) error {
	m.mu.Lock()
	all := maps.Clone(m.docs)
	m.mu.Unlock()
	for key, v := range all {
		if name, ok := strings.CutPrefix(key, bucket+"/"); ok {
			if err := visit(name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// sealing marks sealed values.
type sealing struct{}

func (sealing) Seal(value []byte) string { return "sealed" + string(value) }

func (sealing) Open(sealed string) ([]byte, error) {
	value, ok := strings.CutPrefix(strings.TrimPrefix(sealed, "new "), "sealed")
	if !ok {
		return nil, errors.New("not sealed")
	}
	return []byte(value), nil
}

func (sealing) Reseal(sealed string) (string, bool, error) {
	return "new " + strings.TrimPrefix(sealed, "new "), !strings.HasPrefix(sealed, "new "), nil
}

// world is a registry, its documents, and a clock.
type world struct {
	*machines.Registry
	docs *memory
	now  time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{docs: &memory{docs: map[string][]byte{}}, now: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.reopen(t)
	return w
}

func (w *world) reopen(t *testing.T) {
	t.Helper()
	r, err := machines.Open(t.Context(), machines.Config{Docs: w.docs, Seal: sealing{}, Now: func() time.Time { return w.now }})
	if err != nil {
		t.Fatal(err)
	}
	w.Registry = r
}

func newKey(t *testing.T) ed25519.PublicKey {
	t.Helper()
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// invite creates a token and parses it.
func (w *world) invite(t *testing.T) machines.Invite {
	t.Helper()
	text, _, err := w.NewToken(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	i, err := machines.ParseInvite(" " + text + "\n")
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (w *world) join(t *testing.T, name string) machines.Machine {
	t.Helper()
	m, err := w.Redeem(t.Context(), w.invite(t).Secret, name, newKey(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTokenWorksOnce(t *testing.T) {
	w := newWorld(t)
	i := w.invite(t)
	var group sync.WaitGroup
	errs := make([]error, 8)
	for n := range errs {
		key, name := newKey(t), "box"+string(rune('a'+n))
		group.Go(func() { _, errs[n] = w.Redeem(context.Background(), i.Secret, name, key) })
	}
	group.Wait()
	joined := 0
	for _, err := range errs {
		if err == nil {
			joined++
		} else if !errors.Is(err, machines.ErrWrongToken) {
			t.Errorf("refused with %v", err)
		}
	}
	if joined != 1 || len(w.List()) != 1 {
		t.Errorf("%d computers joined with one token, %d are listed", joined, len(w.List()))
	}
	w.reopen(t)
	if _, err := w.Redeem(t.Context(), i.Secret, "later", newKey(t)); !errors.Is(err, machines.ErrWrongToken) {
		t.Errorf("after a restart the token was answered with %v", err)
	}
}

func TestTokenExpires(t *testing.T) {
	w := newWorld(t)
	i := w.invite(t)
	w.now = w.now.Add(time.Hour)
	if _, err := w.Redeem(t.Context(), i.Secret, "box", newKey(t)); !errors.Is(err, machines.ErrWrongToken) {
		t.Errorf("an old token was answered with %v", err)
	}
	if len(w.Tokens()) != 0 {
		t.Error("an old token is listed")
	}
}

func TestRemovedTokenDoesNotWork(t *testing.T) {
	w := newWorld(t)
	i := w.invite(t)
	if err := w.RemoveToken(t.Context(), w.Tokens()[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Redeem(t.Context(), i.Secret, "box", newKey(t)); !errors.Is(err, machines.ErrWrongToken) {
		t.Errorf("a removed token was answered with %v", err)
	}
}

func TestTakenNameDoesNotUseTokenUp(t *testing.T) {
	w := newWorld(t)
	w.join(t, "box")
	i, key := w.invite(t), newKey(t)
	for _, name := range []string{"box", "", "Box", "-box", "a b", "../x", strings.Repeat("x", 41)} {
		if _, err := w.Redeem(t.Context(), i.Secret, name, key); !machines.IsRefused(err) {
			t.Errorf("the name %q was answered with %v", name, err)
		}
	}
	if _, err := w.Redeem(t.Context(), i.Secret, "box2", key); err != nil {
		t.Errorf("the token was used up: %v", err)
	}
}

func TestMachinesOutliveARestart(t *testing.T) {
	w := newWorld(t)
	m := w.join(t, "box")
	hub := w.Key()
	if err := w.Rename(t.Context(), m.ID, "box2"); err != nil {
		t.Fatal(err)
	}
	if err := w.SetDraining(t.Context(), m.ID, true); err != nil {
		t.Fatal(err)
	}
	_, _, leave, err := w.Connect(t.Context(), m.ID, machines.Report{})
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute)
	leave()
	w.reopen(t)
	found, err := w.Find(m.Key)
	if err != nil || found.Name != "box2" || !found.Draining || found.By != "owner" {
		t.Errorf("found %+v, %v", found, err)
	}
	if s := w.List()[0]; s.Online || !s.Since.Equal(w.now) {
		t.Errorf("listed as %+v", s)
	}
	if !w.Key().Equal(hub) {
		t.Error("the hub has another key after a restart")
	}
	for key, v := range w.docs.docs {
		if bytes.Contains(v, hub.Seed()) && !strings.HasPrefix(key, "machine-hub/") {
			t.Errorf("%s has the hub's key in clear", key)
		}
	}
}

func TestRevokedMachineIsThrownOut(t *testing.T) {
	w := newWorld(t)
	m := w.join(t, "box")
	bound, _, leave, err := w.Connect(t.Context(), m.ID, machines.Report{})
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if _, err := w.Revoke(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(context.Cause(bound), machines.ErrRevoked) {
		t.Errorf("its connection has ended with %v", context.Cause(bound))
	}
	for range 2 {
		if _, err := w.Find(m.Key); !errors.Is(err, machines.ErrUnknown) {
			t.Errorf("its key was answered with %v", err)
		}
		if _, _, _, err := w.Connect(t.Context(), m.ID, machines.Report{}); !errors.Is(err, machines.ErrUnknown) {
			t.Errorf("it could connect: %v", err)
		}
		w.reopen(t)
	}
}

// A failing disk does not keep a revoked machine connected.
func TestRevokeEndsTheConnectionWhateverTheDiskDoes(t *testing.T) {
	w := newWorld(t)
	m := w.join(t, "box")
	bound, _, leave, _ := w.Connect(t.Context(), m.ID, machines.Report{})
	defer leave()
	w.docs.fail = errors.New("disk")
	if _, err := w.Revoke(t.Context(), m.ID); !errors.Is(err, w.docs.fail) {
		t.Errorf("revoking ended with %v", err)
	}
	if !errors.Is(context.Cause(bound), machines.ErrRevoked) {
		t.Error("its connection goes on")
	}
}

func TestNewestConnectionWins(t *testing.T) {
	w := newWorld(t)
	m := w.join(t, "box")
	first, one, leaveFirst, _ := w.Connect(t.Context(), m.ID, machines.Report{Version: "1"})
	second, two, leaveSecond, _ := w.Connect(t.Context(), m.ID, machines.Report{Version: "2"})
	if !errors.Is(context.Cause(first), machines.ErrReplaced) || second.Err() != nil || two <= one {
		t.Errorf("the first ended with %v, the second with %v; incarnations %d and %d", context.Cause(first), second.Err(), one, two)
	}
	leaveFirst()
	if w.List()[0].Online {
		t.Error("online before it is known what it can do")
	}
	w.SetReady(m.ID)
	if s := w.List()[0]; !s.Online || s.Report.Version != "2" {
		t.Errorf("once the first has left: %+v", s)
	}
	leaveSecond()
	if w.List()[0].Online {
		t.Error("online once both have left")
	}
}

func TestKeyOfTheHubIsResealed(t *testing.T) {
	w := newWorld(t)
	before := w.Key()
	for _, want := range []int{1, 0} {
		if changed, _, err := w.Reseal(t.Context()); err != nil || changed != want {
			t.Errorf("resealed %d, %v", changed, err)
		}
		w.reopen(t)
		if !w.Key().Equal(before) {
			t.Error("it is another key")
		}
	}
}

func TestReportIsBounded(t *testing.T) {
	long := strings.Repeat("é\n", 10_000)
	dirs, agents := make([]machines.Dir, 1000), make([]machines.Agent, 1000)
	for i := range dirs {
		dirs[i] = machines.Dir{Path: long, Free: -1}
		agents[i] = machines.Agent{Name: long, Version: long, State: "other", Note: long}
	}
	r := machines.Report{Version: long, OS: long, Dirs: dirs, Agents: agents, Cores: -3, Load: math.NaN(), Memory: -1,
		FreeMemory: math.MaxInt64}.Clean()
	if len(r.Version) > 200 || strings.Contains(r.OS, "\n") || len(r.Dirs) > 50 || len(r.Dirs[0].Path) > 200 ||
		r.Dirs[0].Free != 0 || len(r.Agents) > 50 || r.Cores != 0 || r.Load != 0 || r.Memory != 0 || r.FreeMemory != 0 {
		t.Errorf("cleaned to %+v", r)
	}
	if a := r.Agents[0]; len(a.Name) > 200 || len(a.Version) > 200 || a.State != "" || len(a.Note) > 500 {
		t.Errorf("an agent is cleaned to %+v", a)
	}
	if dirs[0].Free != -1 || agents[0].Name != long {
		t.Error("cleaning changes what came")
	}
}

// A later report replaces the one sent with the connection, is bounded like it, and is accepted only while the machine
// is connected.
func TestReportFollowsTheMachine(t *testing.T) {
	w := newWorld(t)
	m := w.join(t, "box")
	changed, cancel := w.Watch()
	defer cancel()
	_, _, leave, err := w.Connect(t.Context(), m.ID, machines.Report{Cores: 4})
	if err != nil {
		t.Fatal(err)
	}
	<-changed
	w.Update(m.ID, machines.Report{Cores: 4, Load: 1.5, Version: strings.Repeat("v", 1000)})
	<-changed
	if r := w.List()[0].Report; r.FreeCores() != 2.5 || len(r.Version) > 200 {
		t.Errorf("the report is %+v", r)
	}
	leave()
	w.Update(m.ID, machines.Report{Cores: 8})
	w.Update("other", machines.Report{Cores: 8})
	if r := w.List()[0].Report; r.Cores != 4 {
		t.Errorf("while it is away, the report is %+v", r)
	}
}

func FuzzParseInvite(f *testing.F) {
	f.Add("ahj1.AAAA")
	f.Add(machines.Invite{Hub: make([]byte, ed25519.PublicKeySize)}.String())
	f.Fuzz(func(t *testing.T, text string) {
		i, err := machines.ParseInvite(text)
		if err != nil {
			if len(text) > 20 && strings.Contains(err.Error(), text) {
				t.Error("the error quotes the token")
			}
			return
		}
		again, err := machines.ParseInvite(i.String())
		if err != nil || again.Secret != i.Secret || !again.Hub.Equal(i.Hub) {
			t.Errorf("%q is read back differently: %v", text, err)
		}
	})
}
