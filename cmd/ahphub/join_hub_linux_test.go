package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	endpoint "github.com/ahphub/ahphub/handlers/machines"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/agent/agenttest"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machines"
)

// hubArgument runs the test binary as a hub with machines and without pages; join runs it as
// `ahphub join`.
const hubArgument = "test-hub"

// TestMain lets the test binary run as the processes that fault tests kill.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == hubArgument {
		if err := runTestHub(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == nodeArgument {
		runTestNode(os.Args[2], os.Args[3:])
	}
	if len(os.Args) > 1 && os.Args[1] == agentArgument {
		runBenchAgent()
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == machinesArgument {
		fmt.Fprintln(os.Stderr, runBenchMachines(os.Args[2]))
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == "join" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fileDocs stores documents in a file, durable enough for a killed process.
type fileDocs struct {
	machineDocs
	path string
}

type keptDoc struct {
	Bucket, Key string
	Value       []byte
}

func openFileDocs(path string) (*fileDocs, error) {
	d := &fileDocs{machineDocs{docs: map[[2]string][]byte{}}, path}
	raw, err := os.ReadFile(path)
	if err != nil {
		return d, nil // the first start
	}
	var all []keptDoc
	err = json.Unmarshal(raw, &all)
	for _, k := range all {
		d.docs[[2]string{k.Bucket, k.Key}] = k.Value
	}
	return d, err
}

func (d *fileDocs) write() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []keptDoc
	for k, v := range d.docs {
		all = append(all, keptDoc{k[0], k[1], v})
	}
	raw, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(d.path+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(d.path+".new", d.path)
	}
	return err
}

func (d *fileDocs) Put(ctx context.Context, bucket, key string, value []byte) error {
	return errors.Join(d.machineDocs.Put(ctx, bucket, key, value), d.write())
}

func (d *fileDocs) Delete(ctx context.Context, bucket, key string) error {
	return errors.Join(d.machineDocs.Delete(ctx, bucket, key), d.write())
}

func (d *fileDocs) Each(_ context.Context, bucket string, visit func(key string, value []byte) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k, v := range d.docs {
		if k[0] == bucket {
			if err := visit(k[1], v); err != nil {
				return err
			}
		}
	}
	return nil
}

// hubEvent is an event of the hub process, one per line.
type hubEvent struct {
	Event string // token, online, offline, part, end
	Text  string
	Err   string
}

// testHub is the hub process.
type testHub struct {
	registry *machines.Registry
	roster   *fleet.Roster
	dir      string // of sessions on the machine
	mu       sync.Mutex
	turns    int
}

func (h *testHub) say(e hubEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(e) // fails if the test has ended
}

// runTestHub serves machines at an address, and executes commands from standard input.
func runTestHub(data, address string) error {
	ctx := context.Background()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	docs, err := openFileDocs(filepath.Join(data, "docs"))
	if err != nil {
		return err
	}
	h := &testHub{dir: filepath.Join(data, "src")}
	if h.registry, err = machines.Open(ctx, machines.Config{Docs: docs, Seal: openSeal{}}); err != nil {
		return err
	}
	h.roster = fleet.NewRoster(fleet.Config{Registry: h.registry, Log: log})
	a := &app{log: log, roster: h.roster}
	e, err := endpoint.New(endpoint.Config{Registry: h.registry, Log: log, Name: func(string) string { return "" },
		Serve: a.useMachine})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(l, e) }() // until the process ends
	go h.watch()
	for scan := bufio.NewScanner(os.Stdin); scan.Scan(); {
		switch scan.Text() {
		case "token":
			text, _, err := h.registry.NewToken(ctx, "owner")
			h.say(hubEvent{Event: "token", Text: text, Err: fmt.Sprint(err)})
		case "prompt":
			go h.prompt(ctx)
		case "revoke":
			_, err := h.registry.Revoke(ctx, h.registry.List()[0].ID)
			h.say(hubEvent{Event: "revoked", Err: fmt.Sprint(err)})
		}
	}
	return nil
}

// watch reports whether the machine is connected.
func (h *testHub) watch() {
	changed, cancel := h.roster.Watch()
	defer cancel()
	for was := false; ; <-changed {
		if is := slices.ContainsFunc(h.roster.Machines(), func(m fleet.Member) bool { return m.Online }); is != was {
			was = is
			h.say(hubEvent{Event: map[bool]string{true: "online", false: "offline"}[is]})
		}
	}
}

// tellingTurn reports the progress of a turn.
type tellingTurn struct {
	*agenttest.Turn
	h *testHub
}

func (t tellingTurn) Emit(a ahp.Action) error {
	err := t.Turn.Emit(a)
	t.h.say(hubEvent{Event: "part"})
	return err
}

// prompt runs a turn in a new session, and reports the result.
func (h *testHub) prompt(ctx context.Context) {
	h.mu.Lock()
	h.turns++
	session := ahp.URI("ahp-session:/" + strconv.Itoa(os.Getpid()) + "-" + strconv.Itoa(h.turns))
	h.mu.Unlock()
	s, err := h.roster.Machines()[0].Machine.Agents()["opencode"].Open(ctx, agent.Spec{Session: session,
		Dirs: []string{h.dir}, Host: &agenttest.Host{}, Config: func(string) string { return "" }})
	if err != nil {
		h.say(hubEvent{Event: "end", Err: "open: " + err.Error()})
		return
	}
	turn, prompt := agenttest.New(agenttest.User("count"))
	prompt.Out = tellingTurn{turn, h}
	err = s.Prompt(ctx, prompt)
	end := hubEvent{Event: "end"}
	if err != nil {
		end.Err = err.Error()
	}
	end.Text = agenttest.Text(turn.End(nil))
	_ = s.Close() // the machine may be gone
	h.say(end)
}
