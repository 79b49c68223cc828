package notify

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ahphub/ahphub/hub/ahp"
)

// offline is a store whose reads fail; preferences are in memory.
type offline struct{ *memory }

func (o offline) Get(_ context.Context, bucket, key string) ([]byte, bool, error) {
	if bucket == prefsBucket {
		panic("the choices of " + key + " are read from the store")
	}
	return o.memory.Get(context.Background(), bucket, key)
}

func TestPreferencesAreKeptInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		if err := store.Put(t.Context(), prefsBucket, "guest:broken", []byte(`{"paused":7}`)); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, store)
		w.n.cfg.Store = offline{store}
		w.change("owner", func(p *Prefs) { p.Choose(Mail, []Kind{Approval}); p.Mute(session, true) })
		p, err := w.n.Prefs("owner")
		if err != nil || !p.Mutes(session) || !p.Wants(Mail, Approval) {
			t.Errorf("%+v, %v", p, err)
		}
		p.On[Mail][0], p.Muted[0] = "other", ahp.URI("other")
		if again, _ := w.n.Prefs("owner"); !again.Mutes(session) || !again.Wants(Mail, Approval) {
			t.Error("a reader's copy is the original")
		}
		if _, err := w.n.Prefs("guest:broken"); err == nil || !strings.Contains(err.Error(), "guest:broken") {
			t.Errorf("what cannot be read is %v", err)
		}
		w.stop()
		w = newWorld(t, store)
		if p, err := w.n.Prefs("owner"); err != nil || !p.Mutes(session) || !p.Wants(Mail, Approval) {
			t.Errorf("after a restart: %+v, %v", p, err)
		}
		if err := w.n.Sweep(t.Context(), func(who string) bool { return who == "owner" }); err != nil {
			t.Error(err)
		}
		if p, _ := w.n.Prefs("owner"); p.Mutes(session) {
			t.Error("choices of a removed account are still there")
		}
	})
}
