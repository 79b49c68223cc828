package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

func kilobytes(status, key string) int64 {
	for line := range strings.Lines(status) {
		if v, ok := strings.CutPrefix(line, key); ok {
			n, _ := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return n
		}
	}
	return 0
}

const unit = 40 // bytes of text per message

// BenchmarkFanOut streams messages to n WebSockets of another process: through the program, and
// through a server that stores nothing, in the same run. It reports deliveries per second of both
// and their ratio.
func BenchmarkFanOut(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint("clients=", n), func(b *testing.B) {
			messages := 2_000_000 / n
			for b.Loop() {
				ours := fanOut(b, n, messages)
				bare := bareFanOut(b, n, messages)
				b.ReportMetric(perSecond(ours), "deliveries/s")
				b.ReportMetric(perSecond(bare), "bare-deliveries/s")
				b.ReportMetric(perSecond(ours)/perSecond(bare), "ratio")
				b.ReportMetric(float64(ours.Units)/float64(ours.Frames), "messages/frame")
			}
		})
	}
}

// BenchmarkFanOutDifferent sends 400 actions that do not merge to n WebSockets: titles of a
// session, as fast as one client can, and the same number of frames of the bare server.
func BenchmarkFanOutDifferent(b *testing.B) {
	const messages = 400
	for _, n := range []int{100, 200, 500, 1000} {
		b.Run(fmt.Sprint("clients=", n), func(b *testing.B) {
			var ratios []float64
			for b.Loop() {
				ours, bare := fanOutTitles(b, n, messages), bareFanOut(b, n, messages)
				ratios = append(ratios, perSecond(ours)/perSecond(bare))
				b.ReportMetric(perSecond(ours), "deliveries/s")
				b.ReportMetric(perSecond(bare), "bare-deliveries/s")
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func fanOutTitles(b *testing.B, n, messages int) swarmResult {
	h := startHost(b, b.TempDir())
	defer h.Stop()
	p := h.peer(b, "driver")
	_, err := p.Initialize(b.Context())
	check(b, err)
	uri, _ := session(b, p)
	s := startSwarm(b, swarmSpec{URL: h.AHP, Token: h.Token(), Clients: n, Channel: uri, Unit: unit,
		Match: "session/titleChanged", End: "title 399"})
	for i := range messages {
		_, err := p.Dispatch(b.Context(), uri, &ahp.SessionTitleChangedAction{Title: fmt.Sprint("title ", i)})
		check(b, err)
	}
	return s.result(b, int64(n*messages))
}

func perSecond(r swarmResult) float64 { return float64(r.Units) / r.Elapsed.Seconds() }

func fanOut(b *testing.B, n, messages int) swarmResult {
	h := startHost(b, b.TempDir())
	defer h.Stop()
	p := h.peer(b, "driver")
	_, err := p.Initialize(b.Context())
	check(b, err)
	_, chat := session(b, p)
	s := startSwarm(b, swarmSpec{URL: h.AHP, Token: h.Token(), Clients: n, Channel: chat, Unit: unit + len(`\n`) - 1,
		End: endMarker})
	prompt(b, p, chat, fmt.Sprintf("burst %d %d", messages, unit))
	return s.result(b, int64(n*messages))
}

func bareFanOut(b *testing.B, n, messages int) swarmResult {
	addr, stop := startBare(b)
	defer stop()
	s := startSwarm(b, swarmSpec{URL: "ws://" + addr + "/ws", Clients: n, Unit: unit, End: endMarker})
	res, err := http.Get(fmt.Sprintf("http://%s/go?clients=%d&n=%d&unit=%d", addr, n, messages, unit))
	check(b, err)
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return s.result(b, int64(n*messages))
}

// BenchmarkDeltaLatency measures the time from an agent's delta to the frame at a client, including
// journal and socket: the agent writes the clock as text.
func BenchmarkDeltaLatency(b *testing.B) {
	h := startHost(b, b.TempDir())
	driver := h.peer(b, "driver")
	_, err := driver.Initialize(b.Context())
	check(b, err)
	_, chat := session(b, driver)
	var took []time.Duration
	reader, err := peer.Dial(b.Context(), h.AHP, peer.Options{Trust: true, Token: h.Token(), ClientID: "reader",
		OnFrame: func(f []byte) {
			if at, ok := clockIn(f); ok {
				took = append(took, time.Since(at))
			}
		}})
	check(b, err)
	defer reader.Close()
	_, err = reader.Initialize(b.Context(), chat)
	check(b, err)
	turns := 0
	for b.Loop() {
		turns++
		prompt(b, driver, chat, "clock 1000 2")
		idle(b, reader, chat, turns)
	}
	if len(took) < 1000*turns*9/10 {
		b.Fatalf("%d of %d deltas arrived on their own", len(took), 1000*turns)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// clockIn returns the time that the agent wrote in nanoseconds as a delta's text.
func clockIn(frame []byte) (time.Time, bool) {
	_, rest, ok := strings.Cut(string(frame), `"content":"`)
	if !ok {
		return time.Time{}, false
	}
	digits, _, _ := strings.Cut(rest, ` `)
	ns, err := strconv.ParseInt(digits, 10, 64)
	return time.Unix(0, ns), err == nil
}

// BenchmarkReconnect measures a reconnect after 10 000 missed envelopes, from the request until the
// replay is decoded.
func BenchmarkReconnect(b *testing.B) {
	h := startHost(b, b.TempDir())
	driver, away := h.peer(b, "driver"), h.peer(b, "away")
	_, err := driver.Initialize(b.Context())
	check(b, err)
	_, chat := session(b, driver)
	check(b, driver.Subscribe(b.Context(), chat))
	_, err = away.Initialize(b.Context(), chat)
	check(b, err)
	turns := 0
	var took []time.Duration
	for b.Loop() {
		away.Drop()
		turns++
		prompt(b, driver, chat, "burst 10000 20")
		idle(b, driver, chat, turns)
		start := time.Now()
		res, err := away.Reconnect(b.Context())
		check(b, err)
		took = append(took, time.Since(start))
		if res.Value == nil {
			b.Fatal("no answer")
		}
		check(b, away.Converged(b.Context(), chat))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "reconnect-ms")
}

// BenchmarkIdleConnections reports the memory of an idle connection.
func BenchmarkIdleConnections(b *testing.B) {
	const n = 500
	for b.Loop() {
		h := startHost(b, b.TempDir())
		before := h.rss(b)
		for i := range n {
			p := h.peer(b, fmt.Sprint("idle-", i))
			_, err := p.Initialize(b.Context(), "ahp-root://")
			check(b, err)
		}
		b.ReportMetric(float64(h.rss(b)-before)/n/1024, "KiB/connection")
		h.Stop()
	}
}

// BenchmarkStart measures a start with 1000 sessions in the store until the program prints its
// address, and its resident memory then.
func BenchmarkStart(b *testing.B) {
	data := b.TempDir()
	h := startHost(b, data)
	p := h.peer(b, "driver")
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	_, err := p.Initialize(ctx)
	check(b, err)
	for range 1000 {
		_, chat := session(b, p)
		check(b, p.Subscribe(ctx, chat))
		prompt(b, p, chat, "say hello")
		idle(b, p, chat, 1)
		check(b, p.Unsubscribe(ctx, chat))
	}
	h.Stop()
	var took []time.Duration
	var rss int64
	for b.Loop() {
		start := time.Now()
		h = startHost(b, data)
		took = append(took, time.Since(start))
		p := h.peer(b, "counter")
		_, err := p.Initialize(ctx, "ahp-root://")
		check(b, err)
		var list ahp.ListSessionsResult
		check(b, p.Call(ctx, "listSessions", &ahp.ListSessionsParams{Channel: "ahp-root://"}, &list))
		if len(list.Items) != 1000 {
			b.Fatalf("%d sessions after the restart, want 1000", len(list.Items))
		}
		rss = max(rss, h.rss(b))
		h.Stop()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "listening-ms")
	b.ReportMetric(float64(rss>>20), "MiB")
}
