package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/join"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/remote"
	"github.com/ahphub/ahphub/hub/machine/survey"
	"github.com/ahphub/ahphub/hub/machines"
)

// Machines are measured with three processes on loopback: the hub, a machine and an agent.

const (
	agentArgument    = "bench-agent"    // runs the test binary as an agent that prints the time
	machinesArgument = "bench-machines" // runs the test binary as many idle machines
	benchDeltas      = 1000
	benchPause       = 2 * time.Millisecond
)

// runBenchAgent runs an agent that sends the time in each delta.
func runBenchAgent() {
	send := func(v any) {
		b, _ := json.Marshal(v)
		os.Stdout.Write(append(b, '\n'))
	}
	for scan := bufio.NewScanner(os.Stdin); scan.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(scan.Bytes(), &m) != nil {
			continue
		}
		var result any
		switch m.Method {
		case "initialize":
			result = map[string]any{"protocolVersion": 1, "agentInfo": map[string]string{"name": "clock", "version": "1"}}
		case "session/new":
			result = map[string]string{"sessionId": "s1"}
		case "session/prompt":
			for range benchDeltas {
				time.Sleep(benchPause)
				send(map[string]any{"jsonrpc": "2.0", "method": "session/update", "params": map[string]any{"sessionId": "s1",
					"update": map[string]any{"sessionUpdate": "agent_message_chunk",
						"content": map[string]string{"type": "text", "text": fmt.Sprintf("%d ", time.Now().UnixNano())}}}})
			}
			result = map[string]string{"stopReason": "end_turn"}
		default:
			continue
		}
		send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
	}
}

// clockTurn records the latency of each delta.
type clockTurn struct {
	*agenttest.Turn
	mu   sync.Mutex
	took []time.Duration
}

func (c *clockTurn) Emit(a ahp.Action) error {
	now := time.Now().UnixNano()
	text := ""
	switch a := a.(type) {
	case *ahp.ChatDeltaAction:
		text = a.Content
	case *ahp.ChatResponsePartAction:
		if p, ok := a.Part.Value.(*ahp.MarkdownResponsePart); ok {
			text = p.Content.String()
		}
	}
	c.mu.Lock()
	for word := range strings.FieldsSeq(text) {
		if at, err := strconv.ParseInt(word, 10, 64); err == nil {
			c.took = append(c.took, time.Duration(now-at))
		}
	}
	c.mu.Unlock()
	return c.Turn.Emit(a)
}

// reportTimes reports the median and the 99th percentile.
func reportTimes(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
	b.ReportMetric(0, "ns/op")
}

// benchAgent returns the agent's program.
func benchAgent(b *testing.B) acp.Program {
	return acp.Program{Name: "clock", Title: "Clock", Command: os.Args[0], Args: []string{agentArgument}}
}

// BenchmarkMachineDelta measures the time from an agent's write of a delta until the hub has it, at
// 500 a second.
func BenchmarkMachineDelta(b *testing.B) {
	run := func(b *testing.B, agents func(dir string) map[string]agent.Backend) {
		dir, err := filepath.EvalSymlinks(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		s, err := agents(dir)["clock"].Open(b.Context(), agent.Spec{Session: "ahp-session:/1", Dirs: []string{dir},
			Data: b.TempDir(), Host: &agenttest.Host{}, Config: func(string) string { return "" },
			Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		var took []time.Duration
		for b.Loop() {
			turn, prompt := agenttest.New(agenttest.User("go"))
			clock := &clockTurn{Turn: turn}
			prompt.Out = clock
			if err := s.Prompt(b.Context(), prompt); err != nil {
				b.Fatal(err)
			}
			if len(clock.took) != benchDeltas {
				b.Fatalf("%d of %d deltas came", len(clock.took), benchDeltas)
			}
			took = append(took, clock.took...)
		}
		reportTimes(b, took)
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
	b.Run("local", func(b *testing.B) {
		run(b, func(string) map[string]agent.Backend {
			return map[string]agent.Backend{"clock": acp.Backend{Program: benchAgent(b), Start: local.Programs{}.Start}}
		})
	})
	b.Run("machine", func(b *testing.B) {
		run(b, func(dir string) map[string]agent.Backend { return joinProcess(b, dir).Machine.Agents() })
	})
	b.Run("slow", func(b *testing.B) {
		run(b, func(dir string) map[string]agent.Backend { return joinProcess(b, dir, slowLink).Machine.Agents() })
	})
}

// joinProcess returns a machine that runs as a separate process.
func joinProcess(b *testing.B, dir string, through ...func(*testing.B, *url.URL) *url.URL) fleet.Member {
	w := newJoinWorld(b)
	at := w.url
	for _, f := range through {
		at = f(b, at)
	}
	text, _, err := w.registry.NewToken(b.Context(), "owner")
	if err != nil {
		b.Fatal(err)
	}
	home := b.TempDir()
	bin := filepath.Join(home, ".local", "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		b.Fatal(err)
	}
	// A machine only finds known agents.
	program := "#!/bin/sh\nexec " + os.Args[0] + " " + agentArgument + "\n"
	if err := os.WriteFile(filepath.Join(bin, "goose"), []byte(program), 0o700); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "join", at.String(), "--token", text, "--name", "box2", "--sandbox", "none",
		"--dir", dir, "--data", filepath.Join(home, "data"))
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	box := w.member(b, "joining", isOnline)[0]
	box.Machine = asClock{box.Machine}
	return box
}

// asClock gives the agent of a machine the name of the local one.
type asClock struct{ machine.Machine }

func (m asClock) Agents() map[string]agent.Backend {
	return map[string]agent.Backend{"clock": m.Machine.Agents()["goose"]}
}

// BenchmarkMachineEcho measures the time from a key to its echo for a terminal's viewer.
func BenchmarkMachineEcho(b *testing.B) {
	run := func(b *testing.B, m machine.Machine, dir string) {
		p, err := m.Terminals().Start(b.Context(), machine.TerminalSpec{Dir: dir, Command: []string{"cat"}},
			func([]ahp.Action) {})
		if err != nil {
			b.Fatal(err)
		}
		viewer, read := p.Watch(), int64(0)
		defer viewer.Close()
		if _, err := viewer.Next(b.Context()); err != nil { // the screen
			b.Fatal(err)
		}
		var took []time.Duration
		for b.Loop() {
			for range 500 {
				began := time.Now()
				if err := p.Write([]byte("x")); err != nil {
					b.Fatal(err)
				}
				piece, err := viewer.Next(b.Context())
				if err != nil || string(piece.Data) != "x" {
					b.Fatalf("the echo is %q, %v", piece.Data, err)
				}
				read += int64(len(piece.Data))
				viewer.Taken(read)
				took = append(took, time.Since(began))
			}
		}
		reportTimes(b, took)
		if err := p.Kill(); err != nil {
			b.Error(err)
		}
	}
	b.Run("local", func(b *testing.B) { run(b, local.New(), b.TempDir()) })
	b.Run("machine", func(b *testing.B) {
		dir, err := filepath.EvalSymlinks(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		run(b, joinProcess(b, dir).Machine, dir)
	})
	b.Run("slow", func(b *testing.B) {
		dir := slowDir(b)
		run(b, joinProcess(b, dir, slowLink).Machine, dir)
	})
}

// runBenchMachines runs many idle machines of a hub, with a token for each on standard input.
func runBenchMachines(hub string) error {
	at, err := url.Parse(hub)
	if err != nil {
		return err
	}
	for scan := bufio.NewScanner(os.Stdin); scan.Scan(); {
		invite, err := machines.ParseInvite(scan.Text())
		if err != nil {
			return err
		}
		_, key, err := ed25519.GenerateKey(nil)
		if err != nil {
			return err
		}
		s := survey.New(survey.Config{Version: "bench", Dirs: []string{"/tmp"}, Sandbox: "none"})
		log := slog.New(slog.DiscardHandler)
		server := remote.NewServer(local.New(local.WithAgents(map[string]agent.Backend{"steady": steadyAgent{}})), remote.Config{KeepAlive: fleet.KeepAlive, Log: log, Reporter: s})
		request := join.Request{Hub: at, HubKey: invite.Hub, Invite: &invite, Key: key,
			Name: fmt.Sprintf("box%d", time.Now().UnixNano()), Report: s.Report()}
		go func() {
			_ = join.Keep(context.Background(), request, func(ctx context.Context, c net.Conn, _ join.Welcome) error {
				return server.Serve(ctx, c)
			}, func(error, time.Duration) {})
		}()
	}
	return errors.New("the benchmark is over")
}

// ownUsage returns this process's usage: memory in bytes, and processor time.
func ownUsage() (heap, resident uint64, cpu time.Duration) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // cannot fail
	if raw, err := os.ReadFile("/proc/self/statm"); err == nil {
		fields := strings.Fields(string(raw))
		pages, _ := strconv.ParseUint(fields[1], 10, 64)
		resident = pages * uint64(os.Getpagesize())
	}
	return m.HeapInuse + m.StackInuse, resident, time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkIdleMachines measures the hub's cost of an idle machine: memory, and processor time
// including some reports and heartbeats.
func BenchmarkIdleMachines(b *testing.B) {
	const many, watched = 100, 60 * time.Second
	for b.Loop() {
		w := newJoinWorld(b)
		cmd := exec.Command(os.Args[0], machinesArgument, w.url.String())
		input, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		heap, resident, _ := ownUsage()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		for i := range many {
			text, _, err := w.registry.NewToken(b.Context(), "owner")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := fmt.Fprintln(input, text); err != nil {
				b.Fatal(err)
			}
			w.member(b, "joining", func(l []fleet.Member) bool {
				online := 0
				for _, m := range l {
					if m.Online {
						online++
					}
				}
				return online > i
			})
		}
		time.Sleep(2 * time.Second)
		heapThen, residentThen, cpu := ownUsage()
		began := time.Now()
		time.Sleep(watched)
		var r syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // cannot fail
		used := time.Duration(r.Utime.Nano()+r.Stime.Nano()) - cpu
		b.ReportMetric(float64(heapThen-heap)/many/1024, "KB/machine")
		b.ReportMetric((float64(residentThen)-float64(resident))/many/1024, "resident-KB/machine")
		b.ReportMetric(100*used.Seconds()/time.Since(began).Seconds()/many, "%core/machine")
		b.ReportMetric(0, "ns/op")
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
}
