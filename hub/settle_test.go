package hub_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
)

func TestSettleWaitsForTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, hub.Config{Journal: true})
		b, _ := h.Unjournaled(t.Context())
		h.Durable(b.Upto, 0)
		since := h.Position()
		must(t, h.Settle(t.Context(), since)) // nothing was accepted

		do(t, h, chatURI, delta("a"))
		b, _ = h.Unjournaled(t.Context())
		settled := make(chan error, 1)
		go func() { settled <- h.Settle(t.Context(), since) }()
		synctest.Wait()
		select {
		case err := <-settled:
			t.Fatalf("it is durable before it is on disk: %v", err)
		default:
		}
		h.Durable(b.Upto, 0)
		must(t, <-settled)

		// A failing disk is reported at once, and again to the next caller.
		since = h.Position()
		do(t, h, chatURI, delta("b"))
		b, _ = h.Unjournaled(t.Context())
		full := errors.New("disk full")
		go func() { settled <- h.Settle(t.Context(), since) }()
		synctest.Wait()
		h.JournalFailed(full)
		for _, err := range []error{<-settled, h.Settle(t.Context(), since)} {
			if !errors.Is(err, hub.ErrUnsaved) || !errors.Is(err, full) {
				t.Errorf("a full disk: %v", err)
			}
		}
		must(t, h.Settle(t.Context(), h.Position())) // what changed nothing does not fail with it
		h.Durable(b.Upto, 0)
		must(t, h.Settle(t.Context(), since))

		// A disk that is full has room for what was accepted.
		h.JournalBack()
		since = h.Position()
		do(t, h, chatURI, delta("kept"))
		b, _ = h.Unjournaled(t.Context())
		h.JournalFull(full)
		go func() { settled <- h.Settle(t.Context(), since) }()
		synctest.Wait()
		if err := h.Do(func(tx *hub.Tx) { tx.Apply(chatURI, delta("too late")) }); !errors.Is(err, hub.ErrReadOnly) {
			t.Errorf("a full disk takes more: %v", err)
		}
		h.Durable(b.Upto, 0)
		must(t, <-settled)

		h.JournalBack()
		do(t, h, chatURI, delta("c"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.Settle(ctx, since); !errors.Is(err, hub.ErrUnsaved) || !errors.Is(err, context.Canceled) {
			t.Errorf("a reader who left: %v", err)
		}
	})
}

// While the disk fails, reads are answered past entries that wait for it; nothing else is.
func TestReadsAreAnsweredWhileJournalFails(t *testing.T) {
	h := newHub(t, hub.Config{Journal: true})
	b, _ := h.Unjournaled(t.Context())
	h.Durable(b.Upto, 0)
	c := connect(t, h, "c")
	c.Subscribe("token", hub.Subscription{URI: chatURI})
	next(t, c)
	do(t, h, chatURI, delta("unsaved"))
	b, _ = h.Unjournaled(t.Context())
	c.PutRead("a read before")
	h.JournalFailed(errors.New("disk full"))
	c.Put("a write")
	c.PutRead("a read after")
	var got []any
	for len(got) < 2 {
		for _, it := range next(t, c) {
			got = append(got, it.Put)
		}
	}
	if got[0] != "a read before" || got[1] != "a read after" {
		t.Errorf("answered are %v", got)
	}
	h.Durable(b.Upto, 0)
	h.JournalBack()
	if items := next(t, c); items[0].Env == nil {
		t.Errorf("what waited comes as %v", items)
	}
}

// On a quorum nobody is shown what another host may go on without: no read is answered past it.
func TestNothingUnsettledIsShownOnAQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var confirmed error
		h := newHub(t, hub.Config{Journal: true, Quorum: func() error { return confirmed }})
		b, _ := h.Unjournaled(t.Context())
		h.Durable(b.Upto, 0)
		must(t, h.SettleShown(t.Context()))
		confirmed = errors.New("another host leads")
		if err := h.SettleShown(t.Context()); !errors.Is(err, hub.ErrUnsaved) || !errors.Is(err, confirmed) {
			t.Errorf("a host that another one has followed shows what it has: %v", err)
		}
		confirmed = nil
		c := connect(t, h, "c")
		c.Subscribe("token", hub.Subscription{URI: chatURI})
		next(t, c)

		do(t, h, chatURI, delta("seen by nobody"))
		settled := make(chan error, 1)
		go func() { settled <- h.SettleShown(t.Context()) }()
		c.PutRead("a read")
		b, _ = h.Unjournaled(t.Context())
		synctest.Wait()
		select {
		case err := <-settled:
			t.Fatalf("it is shown before it is durable: %v", err)
		default:
		}
		h.JournalFailed(errors.New("this host leads no more"))
		if err := <-settled; !errors.Is(err, hub.ErrUnsaved) {
			t.Errorf("a host that leads no more shows what it has: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if items, err := c.Next(ctx, nil); err == nil {
			t.Errorf("a read is answered past what is not durable: %v", items)
		}
	})
}
