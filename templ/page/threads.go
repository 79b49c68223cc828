package page

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/templ/part"
)

// Threads is a filtered list of a session's threads.
type Threads struct {
	Base    string
	Query   string
	Me      string
	Pick    ThreadPick
	Filters []ThreadFilter
	Files   []string // paths with threads, for the picker
	People  []Author // authors of comments
	Groups  []ThreadGroup
	Review  *Changes

	Verdicts []part.Verdict // all verdicts, oldest first
}

// ThreadPick is the filter of the list.
type ThreadPick struct {
	State string // "open", "resolved", "outdated", "unread", "mine", "mentions", "all"
	Path  string
	By    string // principal
}

// Author is an author of a thread's comments.
type Author struct{ ID, Name string }

// ThreadFilter is one filter by state.
type ThreadFilter struct {
	Key, Label string
	N          int
}

// ThreadGroup is the threads of one file.
type ThreadGroup struct {
	Path    string
	File    string // key of the group
	Threads []part.Thread
}

var threadFilters = []struct {
	key, label string
	keep       func(t *part.Thread, me string) bool
}{
	{"open", "Open", func(t *part.Thread, _ string) bool { return !t.Resolved }},
	{"resolved", "Resolved", func(t *part.Thread, _ string) bool { return t.Resolved }},
	{"outdated", "Outdated", func(t *part.Thread, _ string) bool { return t.Outdated }},
	{"unread", "Unread", func(t *part.Thread, _ string) bool { return t.Unread }},
	{"mine", "Mine", func(t *part.Thread, me string) bool { return t.WrittenBy(me) }},
	{"mentions", "Mentions", func(t *part.Thread, me string) bool { return t.Calls(me) }},
	{"all", "All", func(*part.Thread, string) bool { return true }},
}

// ThreadsOf filters the threads of a review; an unknown state is "open".
func ThreadsOf(v *Changes, pick ThreadPick) *Threads {
	t := &Threads{Base: v.Base, Query: v.Query, Me: v.Me, Pick: pick, Review: v}
	t.Pick.State = "open"
	keep := threadFilters[0].keep
	for _, f := range threadFilters {
		n := 0
		for i := range v.Threads {
			if f.keep(&v.Threads[i], v.Me) {
				n++
			}
		}
		t.Filters = append(t.Filters, ThreadFilter{f.key, f.label, n})
		if f.key == pick.State {
			t.Pick.State, keep = pick.State, f.keep
		}
	}
	for i := range v.Threads {
		x := &v.Threads[i]
		t.offer(x)
		if keep(x, v.Me) && (pick.Path == "" || x.Path == pick.Path) && (pick.By == "" || x.WrittenBy(pick.By)) {
			t.add(*x)
		}
	}
	slices.Sort(t.Files)
	return t
}

// offer adds a thread's file and authors to the pickers.
func (t *Threads) offer(x *part.Thread) {
	if !slices.Contains(t.Files, x.Path) {
		t.Files = append(t.Files, x.Path)
	}
	for _, e := range x.Entries {
		if !slices.ContainsFunc(t.People, func(a Author) bool { return a.ID == e.ByID }) {
			t.People = append(t.People, Author{e.ByID, e.By})
		}
	}
}

func (t *Threads) add(x part.Thread) {
	for i := range t.Groups {
		if t.Groups[i].Path == x.Path {
			t.Groups[i].Threads = append(t.Groups[i].Threads, x)
			return
		}
	}
	t.Groups = append(t.Groups, ThreadGroup{Path: x.Path, File: part.DiffKey(x.Path), Threads: []part.Thread{x}})
}

// with returns the address of the list with another state.
func (t *Threads) with(state string) string {
	q := url.Values{"state": {state}}
	if t.Pick.Path != "" {
		q.Set("file", t.Pick.Path)
	}
	if t.Pick.By != "" {
		q.Set("by", t.Pick.By)
	}
	return t.Base + "/threads?" + q.Encode()
}

func (t *Threads) narrowed() bool { return t.Pick.Path != "" || t.Pick.By != "" }

const mostQuoted = 8 // lines of a thread's quote

// quotedLine is a line of a quote.
type quotedLine struct{ number, text string }

// quotedLines returns the last lines that a thread is about; none if the thread itself quotes them.
func quotedLines(x *part.Thread) []quotedLine {
	if x.Quote == "" || x.Outdated {
		return nil
	}
	all := strings.Split(x.Quote, "\n")
	skipped := max(0, len(all)-mostQuoted)
	out := make([]quotedLine, 0, mostQuoted)
	for i, text := range all[skipped:] {
		out = append(out, quotedLine{strconv.Itoa(x.From + skipped + i), text})
	}
	return out
}

// refs returns the suggestions on the page that can be applied.
func (t *Threads) refs() (out []string) {
	for _, g := range t.Groups {
		for i := range g.Threads {
			out = append(out, g.Threads[i].Applicable()...)
		}
	}
	return out
}

// empty returns the text of a page without threads.
func (t *Threads) empty() string {
	switch {
	case t.narrowed():
		return "No threads match these filters."
	case t.Pick.State == "open":
		return "No open threads. Press c on a line of a diff to start one."
	case t.Pick.State == "unread":
		return "No unread threads."
	case t.Pick.State == "mentions":
		return "No mentions yet. Type @ in a comment to mention someone."
	case t.Pick.State == "all":
		return "No threads yet. Press c on a line of a diff to start one."
	}
	return "No threads here."
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
