package page

import (
	"bytes"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/templ/part"
)

func drawn(t *testing.T, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBarShowsRest(t *testing.T) {
	thread := part.Thread{ID: "t"}
	for name, c := range map[string]struct {
		v    Changes
		want []string
	}{
		"nothing": {Changes{MaySubmit: true, MaySend: true}, []string{"Submit review", `data-n="0"></span>`, "0/0 reviewed",
			"No open threads", "no open comments"}},
		"one": {Changes{Drafts: make([]Draft, 1), MaySubmit: true, MaySend: true},
			[]string{">(1)<", "1 open comment<", "Publishes 1 pending comment."}},
		"several": {Changes{Drafts: make([]Draft, 3), Unsent: 2, Threads: []part.Thread{thread, thread}, MaySubmit: true,
			MaySend: true}, []string{">(3)<", "5 open comments", "2 open threads", "Publishes 3 pending comments."}},
		"running": {Changes{Unsent: 2, Running: true, MaySubmit: true, MaySend: true},
			[]string{`id="send-how">`, "2 open comments"}},
		"reviewed": {Changes{Files: []part.DiffFile{{ID: "a", Reviewed: true}, {ID: "b"}}}, []string{"1/2 reviewed"}},
	} {
		html := drawn(t, ReviewBar(&c.v))
		for _, want := range c.want {
			if !strings.Contains(html, want) {
				t.Errorf("%s: %q is missing in %s", name, want, html)
			}
		}
	}
}

func TestTreeSharesDirectories(t *testing.T) {
	v := Changes{}
	for _, p := range []string{"a/b/one.go", "a/b/two.go", "a/c/d/x.go", "a/y.go", "z.go"} {
		v.Files = append(v.Files, part.DiffFile{ID: p, Path: p})
	}
	var got []string
	for _, row := range v.tree() {
		name := row.dir + "/"
		if row.file != nil {
			name = row.file.Path
		}
		got = append(got, strings.Repeat(" ", row.depth)+name)
	}
	want := "a/b/| a/b/one.go| a/b/two.go|a/c/d/| a/c/d/x.go|a/| a/y.go|z.go"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("tree %q, want %q", s, want)
	}
}

func TestEmptyReviewHint(t *testing.T) {
	for status, want := range map[string]string{"ready": "No changes in this scope", "computing": "Reading changes",
		"error": "Couldn't read the changes."} {
		if html := drawn(t, StatePart(&Changes{Status: status})); !strings.Contains(html, want) {
			t.Errorf("%s: %q is missing in %s", status, want, html)
		}
	}
}

func TestAddressesKeepTheRest(t *testing.T) {
	v := Changes{Base: "/s/ab", Query: "scope=session&ws=ignore"}
	for key, want := range map[string]string{"view": "/s/ab/changes?scope=session&ws=ignore&view=split",
		"ws": "/s/ab/changes?scope=session&ws=split"} {
		if got := v.with(key, "split"); got != want {
			t.Errorf("with %s: %s, want %s", key, got, want)
		}
	}
	if got := v.with("ws", ""); got != "/s/ab/changes?scope=session" {
		t.Errorf("without ws: %s", got)
	}
}

func TestThreadsAreFiltered(t *testing.T) {
	v := &Changes{Threads: []part.Thread{{ID: "1", Path: "a"}, {ID: "2", Path: "b", Resolved: true},
		{ID: "3", Path: "a", Outdated: true, Unread: true}}}
	for state, want := range map[string]int{"open": 2, "resolved": 1, "outdated": 1, "unread": 1, "all": 3,
		"nonsense": 2} {
		n := 0
		for _, g := range ThreadsOf(v, ThreadPick{State: state}).Groups {
			n += len(g.Threads)
		}
		if n != want {
			t.Errorf("%s: %d threads, want %d", state, n, want)
		}
	}
}

func TestShareWarnsAndShowsTheLinkOnce(t *testing.T) {
	f := part.Frame{Asset: func(s string) string { return "/assets/" + s }}
	html := drawn(t, SharePage(f, &Share{Base: "/s/ab", Local: true, Address: "http://127.0.0.1:8137",
		New: "http://127.0.0.1:8137/j#tok", Links: []ShareLink{{ID: "l1", Revoke: "/s/ab/share/l1/revoke",
			Role: "viewer"}, {ID: "l2", Role: "commenter", Ended: "Revoked"}}}))
	for _, want := range []string{"Links only work on this computer", "/j#tok", "read only", "/s/ab/share/l1/revoke",
		"Revoked", "Not used yet"} {
		if !strings.Contains(html, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(html, "/s/ab/share/l2/revoke") {
		t.Error("a revoked link can be revoked again")
	}
}
