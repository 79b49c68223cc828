package rpc

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// BenchmarkFanout sends actions that never merge, in steps of 20, to 50
// WebSockets whose clients run in this process too, and counts deliveries; a
// lost or repeated frame fails it.
func BenchmarkFanout(b *testing.B) {
	const sockets, step = 50, 20
	w := newWorld(b, Config{}, hub.Config{})
	var wg sync.WaitGroup
	total := (b.N + step - 1) / step * step
	for i := range sockets {
		p := w.dial("owner")
		p.initialize(fmt.Sprint("c", i), chatURI)
		wg.Go(func() { countFrames(b, p, total) })
	}
	b.ResetTimer()
	for range total / step {
		must(b, w.hub.Do(func(tx *hub.Tx) {
			for i := range step {
				tx.Apply(chatURI, &ahp.ChatPendingMessageSetAction{Kind: "steering", ID: "s",
					Message: ahp.Message{Text: fmt.Sprint("some output ", i), Origin: ahp.MessageOrigin{Kind: "user"}}})
			}
		}))
	}
	wg.Wait()
	b.ReportMetric(float64(sockets*total)/b.Elapsed().Seconds(), "deliveries/s")
}

// countFrames reads until everything has arrived.
func countFrames(b *testing.B, p *peer, total int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for got := 0; got < total; {
		_, frame, err := p.ws.Read(ctx)
		if err != nil {
			b.Error(err)
			return
		}
		if got += bytes.Count(frame, []byte("some output")); got > total {
			b.Errorf("%d pieces of %d", got, total)
		}
	}
}

// BenchmarkReconnect answers a client that missed 10 000 envelopes.
func BenchmarkReconnect(b *testing.B) {
	w := newWorld(b, Config{}, hub.Config{Limits: hub.Limits{WindowBytes: 64 << 20}})
	p := w.dial("owner")
	p.initialize("a", chatURI)
	p.ws.CloseNow()
	must(b, w.hub.Do(func(tx *hub.Tx) {
		for range 10_000 {
			tx.Apply(chatURI, &ahp.ChatDeltaAction{TurnID: "t4", PartID: "p", Content: "a delta of twenty by"})
		}
	}))
	for b.Loop() {
		p := w.dial("owner")
		p.send(`{"jsonrpc":"2.0","id":1,"method":"reconnect","params":{"clientId":"a","lastSeenServerSeq":0,"subscriptions":["ahp-chat:/1"]}}`)
		if got := p.read(); strings.Count(got, "a delta of twenty by") != 10_000 { // adjacent ones come as one
			b.Fatalf("%d deltas in %d bytes: %.100s", strings.Count(got, "a delta of twenty by"), len(got), got)
		}
		p.ws.CloseNow()
	}
}
