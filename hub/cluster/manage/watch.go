package manage

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ahphub/ahphub/hub/cluster/peers"
)

const (
	watchEvery = 2 * time.Second // interval between status checks
	grace      = time.Minute     // without an answer before people are notified
)

// absenceBucket has the absences that people were notified of, by node. From it the next leader
// knows that it must report a node's return, but not its absence again.
const absenceBucket = "cluster-absence"

// Buckets returns the buckets that this package writes.
func Buckets() []string { return []string{absenceBucket} }

// Absence describes a node that has not answered for a while, or has returned.
type Absence struct {
	Node      string    `json:"node"`
	Since     time.Time `json:"since"`
	Back      bool      `json:"-"`
	Tolerates int       `json:"-"` // how many more voters may fail now
}

// WatchConfig configures Watch; zero durations use the stated default.
type WatchConfig struct {
	Docs   peers.Documents
	Notify func(Absence) error // notifies people

	Every time.Duration // interval between status checks: 2 s
	Grace time.Duration // without an answer before people are notified: 1 minute
}

// Watch updates the latest status and notifies people of nodes that are down, until ctx is
// canceled. The leader runs it during its term.
func (m *Manager) Watch(ctx context.Context, c WatchConfig) {
	w := &watcher{WatchConfig: c, down: map[string]time.Time{}, notified: map[string]time.Time{}}
	if w.Every == 0 {
		w.Every = watchEvery
	}
	if w.Grace == 0 {
		w.Grace = grace
	}
	defer m.setLatest(nil)
	if err := w.load(ctx); err != nil && ctx.Err() == nil {
		m.cfg.Logger.Warn("cannot read earlier absences of nodes", "err", err)
	}
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	for {
		if s, err := m.status(ctx); err == nil && ctx.Err() == nil {
			m.setLatest(&s)
			if err := w.compare(ctx, &s, time.Now()); err != nil && ctx.Err() == nil {
				m.cfg.Logger.Warn("cannot notify people of a node's absence or return", "err", err)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Latest returns the latest status; false while this node does not lead.
func (m *Manager) Latest() (Status, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.latest == nil {
		return Status{}, false
	}
	return *m.latest, true
}

func (m *Manager) setLatest(s *Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest = s
}

// watcher tracks which nodes do not answer.
type watcher struct {
	WatchConfig

	down     map[string]time.Time // start of each node's absence
	notified map[string]time.Time // absences that people were notified of
}

func (w *watcher) load(ctx context.Context) error {
	return w.Docs.Each(ctx, absenceBucket, func(name string, value []byte) error {
		var a Absence
		if err := json.Unmarshal(value, &a); err != nil {
			return err
		}
		w.down[name], w.notified[name] = a.Since, a.Since
		return nil
	})
}

// compare notifies people of nodes that have been down for the grace period, and of nodes that
// returned.
func (w *watcher) compare(ctx context.Context, s *Status, now time.Time) error {
	known := map[string]bool{}
	for _, n := range s.Nodes {
		known[n.ID] = true
		since, isDown := w.down[n.ID]
		at, wasNotified := w.notified[n.ID]
		switch {
		case n.Error == "":
			delete(w.down, n.ID)
			if wasNotified {
				if err := w.notify(ctx, Absence{Node: n.ID, Since: at, Back: true, Tolerates: s.Tolerates}); err != nil {
					return err
				}
			}
		case !isDown:
			w.down[n.ID] = now
		case !wasNotified && now.Sub(since) >= w.Grace:
			if err := w.notify(ctx, Absence{Node: n.ID, Since: since, Tolerates: s.Tolerates}); err != nil {
				return err
			}
		}
	}
	for name := range w.down {
		if known[name] {
			continue
		}
		delete(w.down, name) // removed from the cluster
		if _, wasNotified := w.notified[name]; wasNotified {
			if err := w.forgetAbsence(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// notify notifies people and then records it: a crash in between repeats the notification and does
// not lose it.
func (w *watcher) notify(ctx context.Context, a Absence) error {
	if err := w.Notify(a); err != nil {
		return err
	}
	if a.Back {
		return w.forgetAbsence(ctx, a.Node)
	}
	raw, err := json.Marshal(a)
	if err == nil {
		err = w.Docs.Put(ctx, absenceBucket, a.Node, raw)
	}
	if err == nil {
		w.notified[a.Node] = a.Since
	}
	return err
}

func (w *watcher) forgetAbsence(ctx context.Context, name string) error {
	err := w.Docs.Delete(ctx, absenceBucket, name)
	if err == nil {
		delete(w.notified, name)
	}
	return err
}
