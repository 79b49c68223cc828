package fleet

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/machine/remote"
	"github.com/ahphub/ahphub/hub/machines"
)

// KeepAlive is the time between keepalives on a connection, both ways. It ends if no answer arrives within 10 s.
const KeepAlive = 8 * time.Second

// Config configures a Roster.
type Config struct {
	Registry *machines.Registry
	Tools    http.Handler // the hub's tools for agents on the machines; nil: none
	Log      *slog.Logger
}

// Roster holds one remote.Machine for each machine of a registry, from joining until it is revoked. It implements
// Members.
type Roster struct {
	cfg  Config
	stop func()
	wg   sync.WaitGroup

	mu       sync.Mutex
	all      map[string]*remote.Machine // by ID
	watchers map[chan struct{}]bool
	closed   bool
}

// NewRoster returns the roster of a registry. The caller must close it.
func NewRoster(cfg Config) *Roster {
	r := &Roster{cfg: cfg, all: map[string]*remote.Machine{}, watchers: map[chan struct{}]bool{}}
	changed, cancel := cfg.Registry.Watch()
	end := make(chan struct{})
	r.stop = sync.OnceFunc(func() { close(end); cancel() })
	r.update()
	r.wg.Go(func() {
		for {
			select {
			case <-changed:
				r.update()
				r.notifyChanged()
			case <-end:
				return
			}
		}
	})
	return r
}

// Close ends everything that machines run for this hub.
func (r *Roster) Close() {
	r.stop()
	r.wg.Wait()
	r.mu.Lock()
	all := slices.Collect(maps.Values(r.all))
	r.all, r.closed = map[string]*remote.Machine{}, true
	r.mu.Unlock()
	for _, m := range all {
		m.Close()
	}
}

// update adds machines that have joined, and closes those that were revoked.
func (r *Roster) update() {
	known := map[string]bool{}
	for _, s := range r.cfg.Registry.List() {
		known[s.ID] = true
		r.get(s.ID)
	}
	var gone []*remote.Machine
	r.mu.Lock()
	for id, m := range r.all {
		if !known[id] {
			gone = append(gone, m)
			delete(r.all, id)
		}
	}
	r.mu.Unlock()
	for _, m := range gone {
		m.Close()
	}
}

// get returns the machine with an ID, and adds a new one, or returns nil once the roster is closed.
func (r *Roster) get(id string) *remote.Machine {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	m := r.all[id]
	if m == nil {
		m = remote.New(remote.Config{KeepAlive: KeepAlive, Log: r.cfg.Log, Changed: r.notifyChanged, Tools: r.cfg.Tools,
			Used:     func() { r.cfg.Registry.SetReady(id) },
			Reported: func(report machines.Report) { r.cfg.Registry.Update(id, report) }})
		r.all[id] = m
	}
	return m
}

// Serve uses the connection of a machine of the registry until it ends, or the machine has a newer one.
func (r *Roster) Serve(ctx context.Context, id string, conn net.Conn) error {
	m := r.get(id)
	if m == nil {
		return net.ErrClosed
	}
	return m.Serve(ctx, conn)
}

// Machines returns the members, sorted by name.
func (r *Roster) Machines() (list []Member) {
	all := r.cfg.Registry.List()
	r.mu.Lock()
	known := maps.Clone(r.all)
	r.mu.Unlock()
	for _, s := range all {
		if m := known[s.ID]; m != nil { // nil: it joined or was revoked just now
			list = append(list, Member{ID: s.ID, Name: s.Name, Draining: s.Draining, Machine: m, Online: m.IsOnline(),
				Cores: s.Report.Cores, FreeCores: s.Report.FreeCores(), Memory: s.Report.Memory,
				FreeMemory: s.Report.FreeMemory, Sandbox: s.Report.Sandbox})
		}
	}
	slices.SortFunc(list, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// Watch returns a channel that receives a value when the result of Machines has changed, until cancel.
func (r *Roster) Watch() (changed <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watchers[c] = true
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, c)
	}
}

// notifyChanged wakes watchers. It does not block.
func (r *Roster) notifyChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
