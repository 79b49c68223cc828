package hub_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// BenchmarkApply measures one delta applied while the writers of n subscribers run: each takes its
// queue and uses the shared encoding. It fails if a writer missed the last envelope.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprint("subscribers=", n), func(b *testing.B) {
			h := newHub(b, hub.Config{Journal: true})
			go store(h)
			var seen sync.WaitGroup
			ctx, cancel := context.WithCancel(context.Background())
			var end atomic.Int64
			for i := range n {
				c := connect(b, h, fmt.Sprint("c", i), chatURI)
				seen.Add(1)
				go func() {
					defer seen.Done()
					drain(ctx, c, &end)
				}()
			}
			a := delta("some twenty bytes...")
			apply := func(tx *hub.Tx) { tx.Apply(chatURI, a) }
			b.ReportAllocs()
			for b.Loop() {
				if err := h.Do(apply); err != nil {
					b.Fatal(err)
				}
			}
			end.Store(h.Seq())
			must(b, h.Do(apply)) // wakes waiting writers
			done := make(chan struct{})
			go func() { seen.Wait(); close(done) }()
			select {
			case <-done:
			case <-time.After(30 * time.Second):
				b.Fatal("a writer missed the end")
			}
			cancel()
		})
	}
}

// store runs a journal on a disk without latency.
func store(h *hub.Hub) {
	for {
		batch, err := h.Unjournaled(context.Background())
		if err != nil {
			return
		}
		h.Durable(batch.Upto, 0)
	}
}

// drain runs a writer without a socket.
func drain(ctx context.Context, c *hub.Conn, end *atomic.Int64) {
	var buf []hub.Item
	for {
		items, err := c.Next(ctx, buf[:0])
		if err != nil {
			return
		}
		for _, it := range items {
			if it.Env == nil {
				continue
			}
			it.Env.Bytes("v", func(*hub.Envelope) []byte { return frame })
			if last := end.Load(); last > 0 && it.Env.Seq >= last {
				return
			}
		}
		buf = items
	}
}

var frame = make([]byte, 300)

// BenchmarkStream sends a whole answer through the hub in 20-byte deltas to one subscriber: the
// time must be linear in its length (DESIGN promise 2).
func BenchmarkStream(b *testing.B) {
	for _, mb := range []int{1, 2, 4} {
		b.Run(fmt.Sprint("MB=", mb), func(b *testing.B) {
			a := delta("some twenty bytes..!")
			apply := func(tx *hub.Tx) { tx.Apply(chatURI, a) }
			n := mb << 20 / 20
			for b.Loop() {
				h := newHub(b, hub.Config{})
				c := connect(b, h, "c", chatURI)
				ctx, cancel := context.WithCancel(context.Background())
				var never atomic.Int64
				var done sync.WaitGroup
				done.Go(func() { drain(ctx, c, &never) })
				for range n {
					must(b, h.Do(apply))
				}
				cancel()
				done.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/delta")
		})
	}
}

// BenchmarkSnapshot streams deltas while another connection repeatedly takes and encodes snapshots
// of a chat of 1000 turns: the longest step of the timeline shows whether a snapshot holds the
// lock.
func BenchmarkSnapshot(b *testing.B) {
	h := newHub(b, hub.Config{})
	chat := newChat("ahp-chat:/long")
	for i := range 1000 {
		chat.Turns = append(chat.Turns, &ahp.Turn{ID: fmt.Sprint(i), Message: ahp.Message{Text: "do"},
			State: ahp.TurnStateComplete,
			ResponseParts: []ahp.ResponsePart{{Value: &ahp.MarkdownResponsePart{ID: "p",
				Content: ahp.NewText(string(frame))}}}})
	}
	must(b, h.Do(func(tx *hub.Tx) {
		must(b, tx.Open(hub.ChannelInfo{URI: chat.Resource, Kind: ahp.ChannelChat}, chat))
	}))
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var snapshots atomic.Int64
	c := connect(b, h, "c")
	wg.Go(func() {
		for ctx.Err() == nil {
			subscribe(c, chat.Resource)
			items, err := c.Next(ctx, nil)
			if err != nil {
				return
			}
			if _, err := ahp.Marshal(items[0].Snapshots[0].State); err == nil {
				snapshots.Add(1)
			}
		}
	})
	a := delta("some twenty bytes..!")
	apply := func(tx *hub.Tx) { tx.Apply(chatURI, a) }
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		must(b, h.Do(apply))
		took = append(took, time.Since(start))
	}
	cancel()
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*999/1000].Nanoseconds()), "p99.9-ns")
	b.ReportMetric(float64(took[len(took)-1].Microseconds()), "longest-µs")
	b.ReportMetric(float64(snapshots.Load()), "snapshots")
}
