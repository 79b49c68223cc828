package history

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

const session, chat = ahp.URI("ahp-session:/1"), ahp.URI("ahp-chat:/1/2")

func text(t *testing.T, a ahp.Action) string {
	t.Helper()
	b, err := ahp.MarshalAction(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// story is a history without faults: w renames a session and runs a turn, and v watches.
type story struct {
	*History
	rows    []Row
	started []string
	began   time.Time
}

func (s *story) at(ms int) time.Time { return s.began.Add(time.Duration(ms) * time.Millisecond) }

// happens adds an envelope to the journal and shows it to both clients.
func (s *story) happens(r Row) {
	s.rows = append(s.rows, r)
	s.sees("w", r)
	s.sees("v", r)
}

func (s *story) sees(mirror string, r Row) {
	s.See(Seen{Mirror: mirror, Channel: r.Channel, Seq: r.Seq, Action: r.Action, Client: r.Client, ClientSeq: r.ClientSeq})
}

func newStory(t *testing.T) *story {
	s := &story{History: New(), began: time.Now()}
	s.Made("w", session)
	s.happens(Row{session, 10, text(t, &ahp.SessionTitleChangedAction{Title: "1"}), "w", 1})
	s.Wrote(1, s.at(10))
	s.happens(Row{chat, 11, text(t, &ahp.ChatTurnStartedAction{TurnID: "t1"}), "w", 2})
	s.started = append(s.started, "t1")
	for i, part := range []string{"a", "b", "c"} {
		r := Row{chat, int64(20 + i), text(t, &ahp.ChatDeltaAction{TurnID: "t1", PartID: "p", Content: part}), "", 0}
		s.rows = append(s.rows, r)
		s.sees("w", r)
	}
	s.sees("v", Row{chat, 22, text(t, &ahp.ChatDeltaAction{TurnID: "t1", PartID: "p", Content: "abc"}), "", 0})
	s.Read(Read{"p", "n2", 1, s.at(20), s.at(25)})
	s.happens(Row{session, 30, text(t, &ahp.SessionTitleChangedAction{Title: "2"}), "w", 3})
	s.Wrote(2, s.at(40))
	s.Read(Read{"p", "n2", 1, s.at(30), s.at(50)}) // concurrent with the write
	s.Read(Read{"p", "n1", 2, s.at(60), s.at(61)})
	again := s.rows[5]
	again.Seq = 35
	s.sees("w", again) // missed the first answer
	return s
}

func (s *story) nodes() Nodes {
	nodes := Nodes{}
	for _, name := range []string{"n1", "n2", "n3"} {
		nodes[name] = Node{Applied: 7, Rows: slices.Clone(s.rows), Channels: []ahp.URI{session, chat},
			Rest: map[string]string{"answers": "h"}}
	}
	return nodes
}

func TestFaultlessHistory(t *testing.T) {
	s := newStory(t)
	if found := s.Check(s.nodes(), s.started); len(found) > 0 {
		t.Errorf("the findings are %q", found)
	}
}

// The checker finds each kind of fault and names it.
func TestFindPlantedFaults(t *testing.T) {
	without := func(rows []Row, seq int64) []Row {
		return slices.DeleteFunc(rows, func(r Row) bool { return r.Seq == seq })
	}
	for name, plant := range map[string]struct {
		kind  string
		spoil func(*story, Nodes)
	}{
		"acknowledged before a quorum had it": {"acknowledged and lost", func(s *story, n Nodes) {
			for name, node := range n {
				node.Rows = without(node.Rows, 30)
				n[name] = node
			}
		}},
		"visible before a quorum had it": {"lost", func(s *story, n Nodes) {
			for name, node := range n {
				node.Rows = without(node.Rows, 21)
				n[name] = node
			}
		}},
		"a number is used again": {"another content", func(s *story, n Nodes) {
			for _, node := range n {
				node.Rows[5].Action = strings.Replace(node.Rows[5].Action, `"2"`, `"3"`, 1)
			}
		}},
		"a number is another client's": {"another content", func(s *story, n Nodes) {
			for _, node := range n {
				node.Rows[0].Client = "x"
			}
		}},
		"a channel that was made is not there": {"acknowledged and lost", func(s *story, n Nodes) {
			node := n["n1"]
			node.Channels = nil
			n["n1"] = node
		}},
		"an action has another number": {"renumbered", func(s *story, n Nodes) {
			for _, node := range n {
				node.Rows[5].Seq = 31
			}
		}},
		"seen twice": {"out of order", func(s *story, _ Nodes) { s.sees("v", s.rows[5]) }},
		"seen out of order": {"out of order", func(s *story, _ Nodes) {
			s.sees("late", s.rows[5])
			s.sees("late", s.rows[4])
		}},
		"a merged envelope lacks a part": {"another content", func(s *story, _ Nodes) {
			s.sees("other", Row{chat, 22, strings.Replace(s.rows[4].Action, `"c"`, `"ac"`, 1), "", 0})
		}},
		"a stale leader serves": {"stale", func(s *story, _ Nodes) {
			s.Read(Read{"q", "n3", 1, s.at(70), s.at(71)})
		}},
		"a visitor sees what is gone for the next": {"stale", func(s *story, _ Nodes) {
			s.Read(Read{"q", "n3", 3, s.at(62), s.at(63)})
			s.Read(Read{"q", "n1", 2, s.at(70), s.at(71)})
		}},
		"the record of an answer is lost": {"taken twice", func(s *story, n Nodes) {
			for name, node := range n {
				again := node.Rows[5]
				again.Seq = 40
				node.Rows = append(node.Rows, again)
				n[name] = node
			}
		}},
		"a command starts twice":        {"started twice", func(s *story, _ Nodes) { s.started = append(s.started, "t1") }},
		"a command without its turn":    {"started and lost", func(s *story, _ Nodes) { s.started = append(s.started, "t2") }},
		"a node has a different row":    {"nodes differ", func(s *story, n Nodes) { n["n2"].Rows[3].Action = `{"type":"x"}` }},
		"a node lacks a row":            {"nodes differ", func(s *story, n Nodes) { n["n3"] = Node{Applied: 7, Rows: without(s.rows, 30), Rest: n["n3"].Rest} }},
		"a node has an extra row":       {"nodes differ", func(s *story, n Nodes) { n["n1"] = Node{Applied: 7, Rows: without(s.rows, 30), Rest: n["n1"].Rest} }},
		"a node has other answers":      {"nodes differ", func(s *story, n Nodes) { n["n2"].Rest["answers"] = "i" }},
		"a node has something more":     {"nodes differ", func(s *story, n Nodes) { n["n3"].Rest["x"] = "y" }},
		"a node is behind":              {"nodes differ", func(s *story, n Nodes) { n["n2"] = Node{Applied: 6, Rows: s.rows} }},
		"there are no nodes to compare": {"there are no nodes", func(s *story, n Nodes) { clear(n) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t)
			n := s.nodes()
			plant.spoil(s, n)
			found := s.Check(n, s.started)
			if !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, plant.kind) }) {
				t.Errorf("the findings are %q, want %q", found, plant.kind)
			}
		})
	}
}

// Frame records actions and the replay of a reconnecting client, and ignores other messages.
func TestRecordFrames(t *testing.T) {
	h := New()
	for _, frame := range []string{
		`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-session:/1","serverSeq":3,"origin":{"clientId":"w","clientSeq":1},"action":{"type":"session/titleChanged","title":"x"}}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"type":"replay","missing":[],"actions":[{"channel":"ahp-session:/1","serverSeq":4,"origin":{"clientId":"w","clientSeq":2},"rejectionReason":"no","action":{"type":"session/titleChanged","title":"y"}}]}}`,
		`{"jsonrpc":"2.0","id":8,"result":{"items":[]}}`,
		`{"jsonrpc":"2.0","id":9,"result":[]}`,
	} {
		if err := h.Frame("w", []byte(frame)); err != nil {
			t.Error(err)
		}
	}
	if n, acked, _, _ := h.Counts(); n != 2 || acked != 1 {
		t.Errorf("%d envelopes and %d answers were recorded", n, acked)
	}
	if ok, answered, _ := h.Answered("w", 1); !ok || !answered {
		t.Error("the first action was not answered")
	}
	if ok, answered, _ := h.Answered("w", 2); ok || !answered {
		t.Error("the second action was not refused")
	}
}

// Discarded envelopes do not count as lost if an earlier check found them or they are old enough to
// be discarded; newer missing envelopes do.
func TestDiscardedEnvelopesAreNotLost(t *testing.T) {
	s := newStory(t)
	if found := s.Check(s.nodes(), s.started); len(found) > 0 {
		t.Fatalf("the findings are %q", found)
	}
	s.happens(Row{session, 40, text(t, &ahp.SessionTitleChangedAction{Title: "3"}), "w", 4})
	s.happens(Row{session, 50, text(t, &ahp.SessionTitleChangedAction{Title: "4"}), "w", 5})
	nodes := s.nodes()
	for name, n := range nodes {
		n.Rows = slices.DeleteFunc(n.Rows, func(r Row) bool { return r.Channel == session && r.Seq <= 40 })
		n.Floors = map[ahp.URI]int64{session: 40}
		nodes[name] = n
	}
	if found := s.Check(nodes, s.started); len(found) > 0 {
		t.Errorf("the findings are %q", found)
	}
	for name, n := range nodes {
		n.Rows = slices.DeleteFunc(n.Rows, func(r Row) bool { return r.Seq == 50 })
		nodes[name] = n
	}
	if found := s.Check(nodes, s.started); len(found) == 0 || !strings.HasPrefix(found[0], "lost") {
		t.Errorf("for a lost envelope, the findings are %q", found)
	}
}

// A client that gave up waiting for its replay may receive it again.
func TestReplayMayRepeat(t *testing.T) {
	s := newStory(t)
	missed := func(seqs ...int64) string {
		var list []string
		for _, r := range s.rows {
			if slices.Contains(seqs, r.Seq) {
				list = append(list, fmt.Sprintf(`{"channel":%q,"serverSeq":%d,"action":%s}`, r.Channel, r.Seq, r.Action))
			}
		}
		return `{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":[` + strings.Join(list, ",") + `]}}`
	}
	for _, frame := range []string{missed(20, 21), missed(20, 21, 22)} {
		if err := s.Frame("late", []byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	if found := s.Check(s.nodes(), s.started); len(found) > 0 {
		t.Error(found)
	}
	if err := s.Frame("late", []byte(`{"method":"action","params":`+strings.TrimSuffix(strings.SplitAfter(missed(21), `"actions":[`)[1], `]}}`)+`}`)); err != nil {
		t.Fatal(err)
	}
	if found := s.Check(s.nodes(), s.started); len(found) != 1 || !strings.HasPrefix(found[0], "out of order: ") {
		t.Errorf("an envelope that was sent twice: %q", found)
	}
}
