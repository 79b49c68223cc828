package page

import "github.com/ahphub/ahphub/templ/part"

// Threads is the list of a session's threads, filtered.
type Threads struct {
	Base    string
	Query   string
	Me      string
	State   string // of the filter: "open", "resolved", "outdated", "unread", "all"
	Filters []ThreadFilter
	Groups  []ThreadGroup
	Review  *Changes
}

// ThreadFilter is one way to narrow the list.
type ThreadFilter struct {
	Key, Label string
	N          int
}

// ThreadGroup is the threads of one file.
type ThreadGroup struct {
	Path    string
	File    string // key, "" when the file is not among the changes
	Threads []part.Thread
}

var threadFilters = []struct {
	key, label string
	keep       func(*part.Thread) bool
}{
	{"open", "Open", func(t *part.Thread) bool { return !t.Resolved }},
	{"resolved", "Resolved", func(t *part.Thread) bool { return t.Resolved }},
	{"outdated", "Outdated", func(t *part.Thread) bool { return t.Outdated }},
	{"unread", "Unread", func(t *part.Thread) bool { return t.Unread }},
	{"all", "All", func(*part.Thread) bool { return true }},
}

// ThreadsOf picks threads of a review by state; an unknown state is "open".
func ThreadsOf(v *Changes, state string) *Threads {
	t := &Threads{Base: v.Base, Query: v.Query, Me: v.Me, State: "open", Review: v}
	keep := threadFilters[0].keep
	for _, f := range threadFilters {
		n := 0
		for i := range v.Threads {
			if f.keep(&v.Threads[i]) {
				n++
			}
		}
		t.Filters = append(t.Filters, ThreadFilter{f.key, f.label, n})
		if f.key == state {
			t.State, keep = state, f.keep
		}
	}
	for i := range v.Threads {
		if keep(&v.Threads[i]) {
			t.add(v.Threads[i])
		}
	}
	return t
}

func (t *Threads) add(x part.Thread) {
	for i := range t.Groups {
		if t.Groups[i].Path == x.Path {
			t.Groups[i].Threads = append(t.Groups[i].Threads, x)
			return
		}
	}
	t.Groups = append(t.Groups, ThreadGroup{Path: x.Path, File: x.File, Threads: []part.Thread{x}})
}

// empty says what to press next.
func (t *Threads) empty() string {
	switch t.State {
	case "open":
		return "No open threads. Press c on a line of a diff to start one."
	case "unread":
		return "You have read everything."
	}
	return "Nothing here."
}
