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

		// A failing disk is reported immediately, and again to the next caller.
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
		must(t, h.Settle(t.Context(), h.Position())) // without a change, it does not fail
		h.Durable(b.Upto, 0)
		must(t, h.Settle(t.Context(), since))

		// A full disk has room for accepted changes.
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

// While the disk fails, only reads are answered, ahead of entries that wait for the disk.
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

// With a quorum, nothing is shown that another host may continue without, including reads.
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
