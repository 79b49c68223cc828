package replica

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/cluster"
)

const chatURI = "ahp-chat:/1"

// node is a node of a cluster in this process, with its log and its database on disk.
type node struct {
	address   raft.ServerAddress
	transport *raft.InmemTransport
	state     *State
	log       *cluster.Raft
}

// startNodes starts a cluster of three nodes.
func startNodes(t *testing.T) []*node {
	t.Helper()
	nodes, addresses := make([]*node, 3), map[string]string{}
	for i := range nodes {
		n := &node{address: raft.ServerAddress(fmt.Sprint("node-", i)), state: open(t, t.TempDir())}
		_, n.transport = raft.NewInmemTransport(n.address)
		nodes[i], addresses[fmt.Sprint(i)] = n, string(n.address)
	}
	for i, n := range nodes {
		for _, other := range nodes {
			if other != n {
				n.transport.Connect(other.address, other.transport)
			}
		}
		dir := t.TempDir()
		logs, err := boltdb.NewBoltStore(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		snapshots, err := raft.NewFileSnapshotStoreWithLogger(dir, 2, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		n.log, err = cluster.Open(cluster.Config{ID: fmt.Sprint(i), State: n.state, Transport: n.transport, Logs: logs,
			Stable: logs, Snapshots: snapshots, Heartbeat: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(n.log.Close(), logs.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	if err := nodes[0].log.Bootstrap(addresses); err != nil {
		t.Fatal(err)
	}
	return nodes
}

// cutOff disconnects a node from the others.
func cutOff(nodes []*node, gone *node) {
	gone.transport.DisconnectAll()
	for _, n := range nodes {
		n.transport.Disconnect(gone.address)
	}
}

// reconnect connects a node to the others again.
func reconnect(nodes []*node, n *node) {
	for _, other := range nodes {
		if other != n {
			n.transport.Connect(other.address, other.transport)
			other.transport.Connect(n.address, n.transport)
		}
	}
}

// leader is a node with its term.
type leader struct {
	*node
	*cluster.Term
}

// terms returns the terms of all nodes.
func terms(t *testing.T, nodes []*node) <-chan leader {
	t.Helper()
	all := make(chan leader)
	for _, n := range nodes {
		go func() {
			for term := range n.log.Terms() {
				select {
				case all <- leader{n, term}:
				case <-term.Context().Done():
				}
			}
			if err := n.log.Err(); err != nil {
				t.Errorf("%s stopped: %v", n.address, err)
			}
		}()
	}
	return all
}

// next waits for the next term.
func next(t *testing.T, terms <-chan leader) (*node, *cluster.Term) {
	t.Helper()
	select {
	case l := <-terms:
		return l.node, l.Term
	case <-time.After(time.Minute):
		t.Fatal("no node leads")
		return nil, nil
	}
}

// timeline is a hub on a node that leads.
type timeline struct {
	t    *testing.T
	h    *hub.Hub
	conn *hub.Conn
	done chan error
	stop context.CancelFunc
}

func lead(t *testing.T, n *node, term *cluster.Term) *timeline {
	t.Helper()
	s, add := n.state.Store(), Append(term)
	boot, err := s.BootBy(t.Context(), add)
	if err != nil {
		t.Fatal(err)
	}
	l := &timeline{t: t, h: hub.New(hub.Config{Journal: true, Boot: boot}), done: make(chan error, 1)}
	for _, c := range boot.Channels {
		if err := l.h.Ensure(t.Context(), s, c.URI); err != nil {
			t.Fatal(err)
		}
	}
	if len(boot.Channels) == 0 {
		l.open()
	}
	ctx, cancel := context.WithCancel(term.Context())
	l.stop = cancel
	go func() { l.done <- s.RunBy(ctx, l.h, add) }()
	t.Cleanup(cancel)
	if l.conn, err = l.h.Connect(hub.ConnConfig{Principal: "p", ClientID: "c"}); err != nil {
		t.Fatal(err)
	}
	l.conn.Subscribe("token", hub.Subscription{URI: chatURI})
	return l
}

// open creates a chat with a running turn.
func (l *timeline) open() {
	err := l.h.Do(func(tx *hub.Tx) {
		if err := tx.Open(hub.ChannelInfo{URI: chatURI, Kind: ahp.ChannelChat, Session: "ahp-session:/1"}, &ahp.ChatState{
			Resource: chatURI, Status: ahp.SessionStatusIdle, ModifiedAt: "2026-01-02T03:04:05.000Z"}); err != nil {
			l.t.Error(err)
		}
		tx.Apply(chatURI, &ahp.ChatTurnStartedAction{TurnID: "t", StartedAt: "2026-01-02T03:04:05.000Z",
			Message: ahp.Message{Text: "go"}})
		tx.Apply(chatURI, &ahp.ChatResponsePartAction{TurnID: "t",
			Part: ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: "p"}}})
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *timeline) say(text string) error {
	return l.h.Do(func(tx *hub.Tx) {
		tx.Apply(chatURI, &ahp.ChatDeltaAction{TurnID: "t", PartID: "p", Content: text})
	})
}

// shown reads what a client sees until the text ends with until, and returns the text and the
// highest number.
func (l *timeline) shown(until string) (text string, seq int64) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	for !strings.HasSuffix(text, until) {
		items, err := l.conn.Next(ctx, nil)
		if err != nil {
			l.t.Fatalf("waiting for %.40q: %v", until, err)
		}
		for _, it := range items {
			for _, s := range it.Snapshots {
				text, seq = textOf(s.State), it.Seq
			}
			if it.Env == nil {
				continue
			}
			if it.Env.Seq <= seq {
				l.t.Fatalf("number %d follows %d", it.Env.Seq, seq)
			}
			seq = it.Env.Seq
			if d, ok := it.Env.Action.(*ahp.ChatDeltaAction); ok {
				text += d.Content
			}
		}
	}
	return text, seq
}

func textOf(s ahp.State) string {
	chat, ok := s.(*ahp.ChatState)
	if !ok || chat.ActiveTurn == nil {
		return ""
	}
	return chat.ActiveTurn.ResponseParts.At(0).Value.(*ahp.MarkdownResponsePart).Content.String()
}

// Everything a client saw is still there after each change of leader, in order and exactly once;
// numbers continue above it; and a leader that is cut off shows nothing more. Some batches are
// larger than one entry of the log.
func TestTimelineSurvivesLeaders(t *testing.T) {
	nodes := startNodes(t)
	terms := terms(t, nodes)
	var seen string
	var highest int64
	var led *node
	for round := range 4 {
		n, term := next(t, terms)
		if led != nil {
			reconnect(nodes, led)
		}
		l := lead(t, n, term)
		if round > 0 {
			text, seq := l.shown(seen)
			if text != seen || seq <= highest {
				t.Fatalf("round %d starts with %d bytes at %d, but %d bytes were seen up to %d", round, len(text), seq, len(seen),
					highest)
			}
		}
		for i := range 50 {
			if err := l.say(fmt.Sprintf("%d.%d,", round, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.say(strings.Repeat("x", 3*cluster.MostBatch/2) + fmt.Sprintf("end%d,", round)); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			seen, highest = l.shown("end0,")
		} else {
			more, seq := l.shown(fmt.Sprintf("end%d,", round))
			seen, highest = seen+more, seq
		}
		cutOff(nodes, n)
		err := l.say("unseen") // accepted if the leader does not know yet
		if failed := <-l.done; !errors.Is(failed, cluster.ErrDeposed) && (err == nil || term.Context().Err() == nil) {
			t.Fatalf("a leader that was cut off ended with %v", failed)
		}
		for i := range 50 {
			if err = l.say(fmt.Sprint("late", i)); err == nil && i == 49 {
				t.Error("a leader that was cut off accepts batches that cannot become durable")
			}
		}
		led = n
	}
}

// A leader that loses its term between two pieces of a batch leaves no part of the batch.
func TestDropIncompleteBatch(t *testing.T) {
	s := open(t, t.TempDir())
	large := splitBatch(batch(t, "large", strings.Repeat("v", 2*cluster.MostBatch)))
	if len(large) != 3 {
		t.Fatalf("split into %d entries", len(large))
	}
	if err := s.Apply(entries(s.Applied(), large[:2]...)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(); err == nil {
		t.Error("a snapshot was taken between two pieces")
	}
	apply(t, s, batch(t, "a", "1"))
	expect(t, s, "a=1 ")
	if err := s.Apply(entries(s.Applied(), large[2])); !errors.Is(err, cluster.ErrDiverged) {
		t.Errorf("a piece without the previous one: %v", err)
	}
}

// A node that stops between two pieces of a batch receives them again.
func TestReceivePiecesAgainAfterRestart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	value := strings.Repeat("v", 2*cluster.MostBatch)
	apply(t, s, batch(t, "a", "1"))
	all := entries(s.Applied(), splitBatch(batch(t, "large", value))...)
	if err := s.Apply(all[:2]); err != nil {
		t.Fatal(err)
	}
	place := s.Applied()
	s.Close()
	s = open(t, dir)
	if got := s.Applied(); got == place || got.Position != 1 {
		t.Errorf("the place is %v", got)
	}
	if err := s.Apply(all); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "a=1 large="+value+" ")
}
