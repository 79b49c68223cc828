package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Nodes holds what each node has after all faults, by name.
type Nodes map[string]Node

// Node holds what one node has.
type Node struct {
	Applied  int64
	Rows     []Row             // of the journal, sorted by number
	Floors   map[ahp.URI]int64 // numbers up to which the journal has discarded envelopes, by channel
	Channels []ahp.URI         // existing channels
	Rest     map[string]string // hashes of everything else that must be equal on all nodes, by name
}

// block is the maximum number of envelopes that one merged envelope covers. A merged envelope never
// crosses a multiple of block.
const block = 64

// Check returns everything wrong in what clients saw, given what the nodes have and the turns whose
// commands started.
func (h *History) Check(nodes Nodes, started []string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &findings{count: map[string]int{}}
	f.agree(nodes)
	if len(nodes) == 0 {
		return append(f.list, "there are no nodes")
	}
	first := nodes[slices.Min(slices.Collect(maps.Keys(nodes)))]
	first.Rows = h.withForgotten(first)
	j := newJournal(first.Rows)
	f.numbers(first.Rows)
	f.order(h.seen)
	forgotten := map[int64]bool{} // since the last check
	for _, s := range h.seen {
		if _, ok := j.at[s.Seq]; !ok && s.Seq <= first.Floors[s.Channel] {
			forgotten[s.Seq] = true
			continue
		}
		f.visible(s, j)
	}
	f.acknowledged(h, first, j, forgotten)
	f.effects(started, first.Rows)
	f.fresh(h.reads, h.writes)
	return f.all()
}

// withForgotten returns the rows of a node, plus rows that an earlier check found and the journal
// has discarded since because they are old.
func (h *History) withForgotten(n Node) []Row {
	rows, now := slices.Clone(n.Rows), byNumber(n.Rows)
	for seq, r := range h.rows {
		if _, ok := now[seq]; !ok && n.hasForgotten(r) {
			rows = append(rows, r)
		}
	}
	h.rows = byNumber(rows)
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Seq, b.Seq) })
	return rows
}

// findings keeps the first few findings of each kind.
type findings struct {
	list  []string
	count map[string]int
}

const clock = "15:04:05.000"

const mostOfAKind = 5

func (f *findings) note(kind, format string, args ...any) {
	f.count[kind]++
	if f.count[kind] <= mostOfAKind {
		f.list = append(f.list, kind+": "+fmt.Sprintf(format, args...))
	}
}

func (f *findings) all() []string {
	for _, kind := range slices.Sorted(maps.Keys(f.count)) {
		if n := f.count[kind]; n > mostOfAKind {
			f.list = append(f.list, fmt.Sprintf("%s: %d in all", kind, n))
		}
	}
	return f.list
}

// agree compares each node with the first one.
func (f *findings) agree(nodes Nodes) {
	names := slices.Sorted(maps.Keys(nodes))
	for _, name := range names[min(1, len(names)):] {
		a, b := nodes[names[0]], nodes[name]
		if a.Applied != b.Applied {
			f.note("nodes differ", "%s has applied %d, but %s %d", names[0], a.Applied, name, b.Applied)
			continue
		}
		ours, theirs := byNumber(a.Rows), byNumber(b.Rows)
		for seq, row := range ours {
			if other, ok := theirs[seq]; ok && other != row || !ok && !b.hasForgotten(row) {
				f.note("nodes differ", "number %d is %+v at %s, but %+v at %s", seq, row, names[0], other, name)
			}
		}
		for seq, row := range theirs {
			if _, ok := ours[seq]; !ok && !a.hasForgotten(row) {
				f.note("nodes differ", "number %d is %+v at %s, but missing at %s", seq, row, name, names[0])
			}
		}
		for _, what := range slices.Sorted(maps.Keys(a.Rest)) {
			if b.Rest[what] != a.Rest[what] {
				f.note("nodes differ", "%s is %.40s at %s, but %.40s at %s", what, a.Rest[what], names[0], b.Rest[what], name)
			}
		}
		for _, what := range slices.Sorted(maps.Keys(b.Rest)) {
			if _, ok := a.Rest[what]; !ok {
				f.note("nodes differ", "%s is at %s, but missing at %s", what, name, names[0])
			}
		}
	}
}

// hasForgotten reports whether the node's journal may have discarded a row. Each node discards rows
// on its own.
func (n Node) hasForgotten(r Row) bool { return r.Seq <= n.Floors[r.Channel] }

func byNumber(rows []Row) map[int64]Row {
	out := make(map[int64]Row, len(rows))
	for _, r := range rows {
		out[r.Seq] = r
	}
	return out
}

// numbers finds client actions that were accepted twice.
func (f *findings) numbers(rows []Row) {
	taken := map[ack]int64{}
	for _, r := range rows {
		if r.Client == "" {
			continue
		}
		at := ack{r.Client, r.ClientSeq}
		if before, twice := taken[at]; twice {
			f.note("taken twice", "action %d of %s is number %d and number %d", r.ClientSeq, r.Client, before, r.Seq)
			continue
		}
		taken[at] = r.Seq
	}
}

// order finds envelopes that a client saw twice or out of order. The client's mirror checks that a
// replay starts after what it has.
func (f *findings) order(seen []Seen) {
	last := map[string]int64{}
	for _, s := range seen {
		if before := last[s.Mirror]; s.Seq <= before && !s.Anew {
			f.note("out of order", "%s saw number %d after %d", s.Mirror, s.Seq, before)
			continue
		}
		last[s.Mirror] = s.Seq
	}
}

// journal indexes the rows of all channels, oldest first.
type journal struct {
	at       map[int64]Row
	taken    map[ack]Row
	channels map[ahp.URI][]Row
	merged   map[Seen]bool
}

func newJournal(rows []Row) *journal {
	j := &journal{byNumber(rows), map[ack]Row{}, map[ahp.URI][]Row{}, map[Seen]bool{}}
	for _, r := range slices.SortedFunc(slices.Values(rows), func(a, b Row) int { return cmp.Compare(a.Seq, b.Seq) }) {
		j.channels[r.Channel] = append(j.channels[r.Channel], r)
		if at := (ack{r.Client, r.ClientSeq}); r.Client != "" {
			if _, twice := j.taken[at]; !twice {
				j.taken[at] = r
			}
		}
	}
	return j
}

// visible checks that an envelope is in the journal with the same number and content.
func (f *findings) visible(s Seen, j *journal) {
	if s.Rejected || isTransient(s) || j.isAnsweredAgain(s) {
		return
	}
	r, ok := j.at[s.Seq]
	switch {
	case !ok:
		f.note("lost", "%s saw number %d of %s, which is not in the journal: %.200s", s.Mirror, s.Seq, s.Channel, s.Action)
	case r.Channel != s.Channel || r.Client != s.Client || r.ClientSeq != s.ClientSeq:
		f.note("another content", "%s saw number %d as %.300s, but the journal has %.300s", s.Mirror, s.Seq, describe(s),
			describe(Seen{Channel: r.Channel, Action: r.Action, Client: r.Client, ClientSeq: r.ClientSeq}))
	case r.Action != s.Action && !j.isMerged(s):
		f.note("another content", "%s saw number %d as %.300s, but the journal has %.300s",
			s.Mirror, s.Seq, s.Action, r.Action)
	}
}

// isAnsweredAgain reports whether s repeats the answer to a client that missed it. The repeated
// answer has a new number that no other client sees.
func (j *journal) isAnsweredAgain(s Seen) bool {
	r, ok := j.taken[ack{s.Client, s.ClientSeq}]
	return ok && s.Client == s.Mirror && r.Seq < s.Seq && r.Channel == s.Channel && r.Action == s.Action
}

func describe(s Seen) string {
	return fmt.Sprintf("action %d of %q in %s: %s", s.ClientSeq, s.Client, s.Channel, s.Action)
}

// isTransient reports whether the journal does not store actions of this type.
func isTransient(s Seen) bool {
	for _, kind := range []string{"terminal/data", "terminal/input", "resourceWatch/changed"} {
		if strings.Contains(s.Action, `"type":"`+kind+`"`) {
			return true
		}
	}
	return false
}

// isMerged reports whether s merges several envelopes of the host. It has the number of the last
// one.
func (j *journal) isMerged(s Seen) bool {
	s.Mirror, s.Anew = "", false
	if s.Client != "" || j.merged[s] {
		return s.Client == ""
	}
	rows := j.channels[s.Channel]
	last, _ := slices.BinarySearchFunc(rows, s.Seq, func(r Row, seq int64) int { return cmp.Compare(r.Seq, seq) })
	for from := last; from >= 0 && rows[from].Client == "" && rows[from].Seq/block == s.Seq/block; from-- {
		if foldsTo(rows[from:last+1], s.Action) {
			j.merged[s] = true
			return true
		}
	}
	return false
}

func foldsTo(rows []Row, want string) bool {
	var merged ahp.Merged
	for i, r := range rows {
		a, err := ahp.UnmarshalAction([]byte(r.Action))
		if err != nil {
			return false
		}
		if i == 0 {
			merged = ahp.Merging(a)
		} else if !merged.Add(a) {
			return false
		}
	}
	text, err := ahp.MarshalAction(merged.Action)
	return err == nil && string(text) == want
}

// acknowledged checks that everything acknowledged to clients exists.
func (f *findings) acknowledged(h *History, n Node, j *journal, forgotten map[int64]bool) {
	for at, seq := range h.acked {
		if now, ok := j.taken[at]; !ok {
			if forgotten[seq] {
				continue
			}
			f.note("acknowledged and lost", "action %d of %s, which was number %d", at.seq, at.client, seq)
		} else if now.Seq > seq {
			f.note("renumbered", "action %d of %s was number %d, but is now %d", at.seq, at.client, seq, now.Seq)
		}
	}
	exist := map[ahp.URI]bool{}
	for _, uri := range n.Channels {
		exist[uri] = true
	}
	for uri, client := range h.made {
		if !exist[uri] {
			f.note("acknowledged and lost", "%s created %s, which does not exist", client, uri)
		}
	}
}

// effects checks that each turn's command started at most once, and that the journal has each
// started turn.
func (f *findings) effects(started []string, rows []Row) {
	times := map[string]int{}
	for _, turn := range started {
		times[turn]++
	}
	asked := map[string]int{}
	for _, r := range rows {
		if a, err := ahp.UnmarshalAction([]byte(r.Action)); err == nil {
			if a, ok := a.(*ahp.ChatTurnStartedAction); ok {
				asked[a.TurnID]++
			}
		}
	}
	for turn, n := range times {
		if n > 1 {
			f.note("started twice", "the command of turn %s started %d times", turn, n)
		}
		if asked[turn] == 0 {
			f.note("started and lost", "the command of turn %s started, but the journal does not have the turn", turn)
		}
	}
}

// fresh checks that no visitor saw a value older than one that was already acknowledged or shown
// before the request.
func (f *findings) fresh(reads []Read, writes []Write) {
	type told struct {
		at    time.Time
		value int
		by    string
	}
	var all []told
	for _, w := range writes {
		all = append(all, told{w.Acked, w.Value, "its writer"})
	}
	for _, r := range reads {
		all = append(all, told{r.Ended, r.Value, r.Visitor + " at " + r.Node})
	}
	slices.SortFunc(all, func(a, b told) int { return a.at.Compare(b.at) })
	most, next := told{}, 0
	for _, r := range slices.SortedFunc(slices.Values(reads), func(a, b Read) int { return a.Began.Compare(b.Began) }) {
		for next < len(all) && all[next].at.Before(r.Began) {
			if all[next].value > most.value {
				most = all[next]
			}
			next++
		}
		if r.Value < most.value {
			f.note("stale", "%s saw %d on %s at %s, requested %v after %s knew %d, answered in %v", r.Visitor, r.Value, r.Node,
				r.Began.Format(clock), r.Began.Sub(most.at).Round(time.Microsecond), most.by, most.value, r.Ended.Sub(r.Began))
			for _, w := range writes {
				if w.Value == most.value {
					f.note("stale", "the write of %d was acknowledged at %s", w.Value, w.Acked.Format(clock))
				}
			}
		}
	}
}
