package secret

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// nodes are copies of the keys; the first one leads.
type nodes struct {
	t     *testing.T
	dirs  []string
	files []string // distributed by the owner; nil: the keys are in the directories
	keys  []*Keys
	memo  *memo

	offers int
	fails  func(offer, node int) bool
}

var errAway = errors.New("it is away")

func newNodes(t *testing.T, files bool) *nodes {
	t.Helper()
	w := &nodes{t: t, fails: func(int, int) bool { return false }}
	first := formatKeys([]key{randomKey()})
	for range 3 {
		dir := t.TempDir()
		path := filepath.Join(dir, KeyFile)
		if files {
			path = filepath.Join(dir, "owners.key")
			w.files = append(w.files, path)
		}
		w.dirs = append(w.dirs, dir)
		w.write(path, first)
	}
	w.restart()
	w.memo = &memo{keys: w.keys[0], sealed: w.keys[0].Seal(Label{"k", "o", "n"}, []byte("value"))}
	return w
}

func (w *nodes) write(path, content string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// restart reopens the keys of all nodes.
func (w *nodes) restart() {
	w.t.Helper()
	w.keys = nil
	for i, dir := range w.dirs {
		k, err := OpenKeys(dir)
		if w.files != nil {
			k, err = ReadKeys(w.files[i])
		}
		if err != nil {
			w.t.Fatal(err)
		}
		k.Share()
		w.keys = append(w.keys, k)
	}
}

func (w *nodes) copies(_ context.Context, o Offer) (list []Copy) {
	w.offers++
	for i, k := range w.keys[1:] {
		c := Copy{Node: fmt.Sprint("n", i+1), Err: errAway}
		if !w.fails(w.offers, i+1) {
			c.Held, c.Err = k.Accept(o)
		}
		list = append(list, c)
	}
	return list
}

func (w *nodes) rotate() (Progress, error) {
	return w.keys[0].RotateShared(w.t.Context(), w.copies, w.memo)
}

func TestRotateSharedKeyOnEveryNode(t *testing.T) {
	w := newNodes(t, false)
	old := w.keys[0].ID()
	if p, err := w.rotate(); err != nil || p != (Progress{Sealed: 1}) {
		t.Fatal(p, err)
	}
	w.restart()
	for i, k := range w.keys {
		if ids := idsOf(k.list); len(ids) != 1 || ids[0] == old || ids[0] != w.keys[0].ID() {
			t.Errorf("node %d has the keys %v", i, ids)
		}
		if value, err := k.Open(Label{"k", "o", "n"}, w.memo.sealed); err != nil || string(value) != "value" {
			t.Errorf("node %d: %q, %v", i, value, err)
		}
	}
}

// Wherever a rotation is interrupted, each node can decrypt what any other node encrypted, and a
// later rotation completes.
func TestInterruptedRotationLocksNothing(t *testing.T) {
	for offer := 1; offer <= 5; offer++ {
		for away := 1; away <= 2; away++ {
			w := newNodes(t, false)
			old := w.keys[0].ID()
			w.fails = func(o, node int) bool { return o >= offer && node == away }
			_, err := w.rotate()
			if !IsRefused(err) || !strings.Contains(err.Error(), fmt.Sprint("node n", away, " did not answer")) {
				t.Fatalf("offer %d to node %d: %v", offer, away, err)
			}
			w.restart()
			if offer == 1 && slices.ContainsFunc(w.keys, func(k *Keys) bool { return len(k.list) != 1 || k.ID() != old }) {
				t.Error("keys changed before all nodes were asked")
			}
			for i, k := range w.keys { // each node leads in turn
				w.memo.keys = k
				if p, err := k.Finish(t.Context(), w.memo); err != nil || p.Locked > 0 {
					t.Errorf("offer %d to node %d, then node %d leads: %+v, %v", offer, away, i, p, err)
				}
			}
			w.fails = func(int, int) bool { return false }
			w.memo.keys = w.keys[0]
			if p, err := w.rotate(); err != nil || p.Locked > 0 || p.Spare > 0 {
				t.Errorf("the next rotation: %+v, %v", p, err)
			}
			for i, k := range w.keys {
				if len(k.list) != 1 || k.ID() != w.keys[0].ID() {
					t.Errorf("node %d has %v in the end", i, idsOf(k.list))
				}
			}
		}
	}
}

// Keys in files of the owner are rotated once the new key is in the first line on every node. No
// node restarts.
func TestRotateSharedKeyFiles(t *testing.T) {
	w := newNodes(t, true)
	if _, err := w.rotate(); !IsRefused(err) || !strings.Contains(err.Error(), "no new key") {
		t.Fatal(err)
	}
	old, fresh := formatKeys(w.keys[0].list), randomKey()
	next := formatKeys([]key{fresh})
	w.write(w.files[0], next+old)
	w.write(w.files[1], old+next)
	_, err := w.rotate()
	for _, want := range []string{"node n1 does not have the key " + fresh.id + " in the first line of " + w.files[1],
		"node n2 lacks the key " + fresh.id + " in " + w.files[2]} {
		if !IsRefused(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for i, k := range w.keys {
		if k.ID() == fresh.id {
			t.Errorf("node %d seals with a key that others lack", i)
		}
	}
	w.write(w.files[1], next+old)
	w.write(w.files[2], next)
	if _, err := w.rotate(); !IsRefused(err) || !strings.Contains(err.Error(), "Put it back below the new key") {
		t.Errorf("without the old key: %v", err)
	}
	w.write(w.files[2], next+old)
	if p, err := w.rotate(); err != nil || p != (Progress{Sealed: 1, Spare: 1}) {
		t.Fatal(p, err)
	}
	for i, k := range w.keys {
		w.write(w.files[i], next)
		if value, err := k.Open(Label{"k", "o", "n"}, w.memo.sealed); err != nil || string(value) != "value" {
			t.Errorf("node %d: %q, %v", i, value, err)
		}
	}
	w.restart()
	for i, k := range w.keys {
		if _, err := k.Open(Label{"k", "o", "n"}, w.memo.sealed); err != nil || k.ID() != fresh.id {
			t.Errorf("node %d without the old key: %v", i, err)
		}
	}
}

func TestOfferHidesKeys(t *testing.T) {
	o := offerOf([]key{randomKey()})
	var b strings.Builder
	slog.New(slog.NewTextHandler(&b, nil)).Info("offer", "value", o, "pointer", &o)
	for _, said := range []string{b.String(), fmt.Sprint(o), fmt.Sprintf("%v %+v %#v %s", o, o, o, o)} {
		if strings.Contains(said, strings.TrimSpace(o.Keys)) {
			t.Errorf("the key is in %q", said)
		}
	}
}
