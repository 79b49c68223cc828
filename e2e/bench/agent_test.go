package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/e2e"
	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// benchAgentEnv makes the test binary an agent of the Agent Client Protocol with negligible cost.
const benchAgentEnv = "AHPHUB_BENCH_AGENT"

// benchAgent answers "clock N MS" with N readings of the clock, one every MS milliseconds, "answer
// BYTES" with a text of that size in pieces of 20 bytes, and "hold" with a text of 1 KB in a turn
// that continues until it is cancelled.
func benchAgent() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := agentOutput{w: bufio.NewWriterSize(os.Stdout, 64<<10)}
	var held json.RawMessage
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Prompt []struct{ Text string } }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			out.line(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}`, m.ID)
		case "session/new":
			out.line(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s"}}`, m.ID)
		case "session/prompt":
			words := strings.Fields(m.Params.Prompt[len(m.Params.Prompt)-1].Text)
			out.play(words)
			if words[0] == "hold" {
				held = m.ID
				continue
			}
			out.line(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID)
		case "session/cancel":
			out.line(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"cancelled"}}`, held)
		}
	}
}

type agentOutput struct{ w *bufio.Writer }

func (o agentOutput) line(format string, args ...any) {
	fmt.Fprintf(o.w, format+"\n", args...)
	o.w.Flush()
}

func (o agentOutput) say(text string) {
	fmt.Fprintf(o.w, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`+"\n", text)
}

func (o agentOutput) play(words []string) {
	switch words[0] {
	case "clock":
		n, every := number(words[1]), time.Duration(number(words[2]))*time.Millisecond
		tick := time.NewTicker(every)
		defer tick.Stop()
		for range n {
			<-tick.C
			o.say(strconv.FormatInt(time.Now().UnixNano(), 10) + " ")
			o.w.Flush()
		}
	case "answer":
		for left := number(words[1]); left > 0; left -= 20 {
			o.say("nineteen letters ok ")
		}
	case "hold":
		o.say(strings.Repeat("held ", 200))
	}
	o.w.Flush()
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// startAgents starts the program with that agent as the default.
func startAgents(b testing.TB, limits string) *host {
	b.Helper()
	return &host{e2e.Start(b, e2e.Options{Args: []string{"--config", agentConfig(b, limits), "--log-level", "warn"}})}
}

// agentConfig writes a configuration with that agent.
func agentConfig(b testing.TB, limits string) string {
	b.Helper()
	config := filepath.Join(b.TempDir(), "ahphub.toml")
	text := fmt.Sprintf("[limits]\n%s\n[[agent]]\nname = \"bench\"\ndefault = true\ncommand = %q\nargs = "+
		"[\"-test.run=^$\"]\nenv = { %s = \"1\" }\n", limits, os.Args[0], benchAgentEnv)
	check(b, os.WriteFile(config, []byte(text), 0o600))
	return config
}

// children returns the number of running child processes.
func (h *host) children(b testing.TB) (n int) {
	b.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	check(b, err)
	for _, file := range all {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it is gone
		}
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if fields[0] != "Z" && fields[1] == strconv.Itoa(h.Pid()) {
			n++
		}
	}
	return n
}

// agentSessions creates sessions with a program each.
func agentSessions(b testing.TB, p *peer.Peer, n int) (chats []ahp.URI) {
	b.Helper()
	for range n {
		_, chat := sessionOf(b, p, "bench")
		chats = append(chats, chat)
	}
	return chats
}

// reading is one clock reading: its time, and its age when its frame arrived.
type reading struct {
	at  time.Time
	age time.Duration
}

// BenchmarkAgentLatency has 20 programs print the time a hundred times a second each for ten
// seconds, and measures the age of each reading when a client that follows all of them gets its
// frame: while all stream, and overall, including the two seconds at both ends in which git looks
// at 20 directories at once.
func BenchmarkAgentLatency(b *testing.B) {
	h := startAgents(b, "")
	measureAgents(b, h, h)
}

// measureAgents does this with programs of one host, and a client of a possibly different one.
func measureAgents(b *testing.B, h, at *host) {
	const sessions, readings, ends = 20, 1000, 2 * time.Second
	driver := h.peer(b, "driver")
	_, err := driver.Initialize(b.Context())
	check(b, err)
	chats := agentSessions(b, driver, sessions)
	var mu sync.Mutex
	var seen []reading
	reader, err := peer.Dial(b.Context(), at.AHP, peer.Options{Trust: true, Token: at.Token(), ClientID: "reader",
		OnFrame: func(f []byte) {
			now := time.Now()
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, clocksIn(f, now)...)
		}})
	check(b, err)
	defer reader.Close()
	_, err = reader.Initialize(b.Context(), chats...)
	check(b, err)
	turns := 0
	var all, steady []time.Duration
	start, used := time.Now(), h.cpu(b)
	for b.Loop() {
		turns++
		for _, chat := range chats {
			prompt(b, driver, chat, fmt.Sprintf("clock %d 10", readings))
		}
		for _, chat := range chats {
			idle(b, reader, chat, turns)
		}
		mu.Lock()
		slices.SortFunc(seen, func(x, y reading) int { return x.at.Compare(y.at) })
		for _, r := range seen {
			all = append(all, r.age)
			if r.at.Sub(seen[0].at) > ends && seen[len(seen)-1].at.Sub(r.at) > ends {
				steady = append(steady, r.age)
			}
		}
		seen = nil
		mu.Unlock()
	}
	b.ReportMetric(float64(100*(h.cpu(b)-used)/time.Since(start)), "%-of-a-core")
	if len(all) != sessions*readings*turns {
		b.Fatalf("%d of %d readings arrived", len(all), sessions*readings*turns)
	}
	slices.Sort(steady)
	slices.Sort(all)
	b.ReportMetric(float64(steady[len(steady)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(steady[len(steady)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-with-ends-µs")
}

// clocksIn returns all readings in a frame: merged deltas have several.
func clocksIn(frame []byte, now time.Time) (seen []reading) {
	if !strings.Contains(string(frame), "chat/delta") && !strings.Contains(string(frame), "chat/responsePart") {
		return nil
	}
	_, rest, _ := strings.Cut(string(frame), `"content":"`)
	text, _, _ := strings.Cut(rest, `"`)
	for word := range strings.FieldsSeq(text) {
		if ns, err := strconv.ParseInt(word, 10, 64); err == nil {
			seen = append(seen, reading{time.Unix(0, ns), now.Sub(time.Unix(0, ns))})
		}
	}
	return seen
}

// BenchmarkAgentAnswer measures a program's answer from the prompt to the end of the turn at a
// client.
func BenchmarkAgentAnswer(b *testing.B) {
	h := startAgents(b, "")
	p := h.peer(b, "driver")
	_, err := p.Initialize(b.Context())
	check(b, err)
	for _, size := range []int{100_000, 200_000, 400_000} {
		b.Run(fmt.Sprint("bytes=", size), func(b *testing.B) {
			_, chat := sessionOf(b, p, "bench")
			check(b, p.Subscribe(b.Context(), chat))
			turns := 0
			for b.Loop() {
				turns++
				prompt(b, p, chat, fmt.Sprint("answer ", size))
				idle(b, p, chat, turns)
			}
		})
	}
}

// BenchmarkAgentMemory reports the host's memory for a session with a running turn, and that a
// session whose program was idle for a while has no program.
func BenchmarkAgentMemory(b *testing.B) {
	const sessions = 50
	for b.Loop() {
		h := startAgents(b, `idle = "2s"`)
		p := h.peer(b, "driver")
		_, err := p.Initialize(b.Context())
		check(b, err)
		warm := agentSessions(b, p, 5) // excludes the cost of the first sessions
		before := h.rss(b)
		chats := agentSessions(b, p, sessions)
		for _, chat := range chats {
			check(b, p.Subscribe(b.Context(), chat))
			prompt(b, p, chat, "hold")
			check(b, p.Wait(b.Context(), func() bool {
				c, ok := p.State(chat).(*ahp.ChatState)
				return ok && c.ActiveTurn != nil && c.ActiveTurn.ResponseParts.Len() > 0
			}))
		}
		b.ReportMetric(float64(h.rss(b)-before)/sessions/1024, "KiB/session")
		b.ReportMetric(float64(h.children(b)), "processes-active")
		for _, chat := range chats {
			turn := p.State(chat).(*ahp.ChatState).ActiveTurn
			_, err := p.Dispatch(b.Context(), chat, &ahp.ChatTurnCancelledAction{TurnID: turn.ID})
			check(b, err)
			idle(b, p, chat, 1)
		}
		for end := time.Now().Add(time.Minute); h.children(b) > 0; {
			if time.Now().After(end) {
				b.Fatalf("%d programs run on in %d idle sessions", h.children(b), sessions+len(warm))
			}
			<-time.After(50 * time.Millisecond)
		}
		b.ReportMetric(0, "processes-idle")
		h.Stop()
	}
}
