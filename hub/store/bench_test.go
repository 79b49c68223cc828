package store

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// BenchmarkJournal applies actions from 64 producers, each of which waits until its action is
// durable before the next. It measures rows/s with group commit, and fails if a row is missing
// afterwards.
func BenchmarkJournal(b *testing.B) {
	l := start(b, Config{Dir: b.TempDir()})
	const producers = 64
	b.ResetTimer()
	var wg sync.WaitGroup
	for p := range producers {
		n := b.N / producers
		if p < b.N%producers {
			n++
		}
		wg.Go(func() { produceDurably(b, l, p, n) })
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	var rows int
	must(b, l.s.read.QueryRow("SELECT count(*) FROM envelopes").Scan(&rows))
	if rows < b.N && rows < 5000 { // snapshots delete the oldest rows of a long run
		b.Fatalf("%d of %d rows", rows, b.N)
	}
}

func produceDurably(b *testing.B, l *life, producer, n int) {
	c, err := l.h.Connect(hub.ConnConfig{Principal: "p", ClientID: fmt.Sprint(producer)})
	if err != nil {
		b.Error(err)
		return
	}
	buf := make([]hub.Item, 0, 16)
	for range n {
		if err := l.apply(chatURI, delta("a delta of twenty by")); err != nil {
			b.Error(err)
			return
		}
		c.Put("mark")
		if buf, err = c.Next(context.Background(), buf[:0]); err != nil {
			b.Error(err)
			return
		}
	}
}

// BenchmarkStream measures one producer that does not wait, which gives large batches.
func BenchmarkStream(b *testing.B) {
	l := start(b, Config{Dir: b.TempDir()})
	b.ResetTimer()
	for i := range b.N {
		for l.apply(chatURI, delta("a delta of twenty by")) != nil { // above UnjournaledBytes
			l.settle()
		}
		if i%1000 == 999 {
			l.settle()
		}
	}
	l.settle()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkLoad loads a chat of 1000 turns.
func BenchmarkLoad(b *testing.B) {
	s := open(b, Config{Dir: b.TempDir()})
	h := boot(b, s)
	chat := &ahp.ChatState{Resource: "ahp-chat:/long"}
	for i := range 1000 {
		chat.Turns = append(chat.Turns, &ahp.Turn{ID: fmt.Sprint(i), State: "complete",
			Message: ahp.Message{Text: "go"},
			ResponseParts: []ahp.ResponsePart{{Value: &ahp.MarkdownResponsePart{ID: "p",
				Content: ahp.NewText(strings.Repeat("words ", 100))}}}})
	}
	must(b, h.Do(func(tx *hub.Tx) {
		must(b, tx.Open(hub.ChannelInfo{URI: chat.Resource, Kind: ahp.ChannelChat}, chat))
	}))
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	must(b, s.Run(ctx, h))
	for b.Loop() {
		_, err := s.Load(b.Context(), chat.Resource)
		must(b, err)
	}
}
