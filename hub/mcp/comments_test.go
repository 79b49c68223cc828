package mcp

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/host/core"
)

const one, two = "ahp-session:/one", "ahp-session:/two"

func idIn(text string) string {
	return regexp.MustCompile(`[0-9a-f-]{36}`).FindString(text)
}

func TestComments(t *testing.T) {
	w := newWorld(t, Limits{})
	c := w.connect(w.open(one), nil)
	for _, name := range []string{"list_comments", "get_comment", "add_comment", "reply_to_comment", "resolve_comment",
		"reopen_comment"} {
		if !slices.Contains(w.names(c), name) {
			t.Errorf("there is no tool %s", name)
		}
	}
	if said := c.InitializeResult().Instructions; !strings.Contains(said, "reply_to_comment") {
		t.Errorf("the model is told %q", said)
	}
	if got := w.ok(c, "list_comments", nil); !strings.Contains(got, "There are no open comments.") {
		t.Errorf("an empty list: %q", got)
	}

	asked := w.comment(one, "a.txt", 3, "Why three?")
	write(t, filepath.Join(w.dir, "a.txt"), "zero\none\ntwo\nthree\nfour\n") // the line moves
	list := w.ok(c, "list_comments", map[string]any{"file": "a.txt"})
	for _, part := range []string{asked, "a.txt, line 4", "Ana: Why three?"} {
		if !strings.Contains(list, part) {
			t.Errorf("the list misses %q:\n%s", part, list)
		}
	}
	if got := w.ok(c, "list_comments", map[string]any{"file": "gone.txt"}); strings.Contains(got, asked) {
		t.Errorf("another file's comments: %s", got)
	}
	w.ok(c, "reply_to_comment", map[string]any{"id": asked, "text": "Because of two."})
	w.ok(c, "resolve_comment", map[string]any{"id": asked})
	thread := w.threads(one)[0]
	by, _ := core.ReadStamp(thread.Entries[1].Meta)
	if !thread.Resolved || thread.Entries[1].Text.Text != "Because of two." || by.By.ID != "agent:worker" ||
		by.By.Name != "Worker" || by.By.Role != access.RoleAgent {
		t.Errorf("the thread is %+v, answered by %+v", thread, by)
	}
	if got := w.ok(c, "get_comment", map[string]any{"id": asked}); !strings.Contains(got, "Worker (the agent)") ||
		!strings.Contains(got, "three") || !strings.Contains(got, "resolved") {
		t.Errorf("read whole: %s", got)
	}
	if got := w.ok(c, "list_comments", nil); strings.Contains(got, asked) {
		t.Errorf("a resolved comment among the open ones: %s", got)
	}
	w.ok(c, "reopen_comment", map[string]any{"id": asked, "text": "Not yet."})
	if thread := w.threads(one)[0]; thread.Resolved || len(thread.Entries) != 3 {
		t.Errorf("reopened: %+v", thread)
	}
}

func TestAddComment(t *testing.T) {
	w := newWorld(t, Limits{})
	c := w.connect(w.open(one), nil)
	w.say(one, "t1")
	write(t, filepath.Join(w.dir, "a.txt"), "one\n2\nthree\n")
	write(t, filepath.Join(w.dir, "new.bin"), "\x00\x01\x02")

	said := w.ok(c, "add_comment", map[string]any{"file": "a.txt", "line": 2, "end_line": 3, "text": "Spell it out.",
		"suggestion": "two\nthree\n"})
	thread := w.threads(one)[0]
	if idIn(said) != thread.ID || !strings.Contains(said, "a.txt, lines 2 to 3") {
		t.Errorf("said %q of %s", said, thread.ID)
	}
	st, _ := core.ReadStamp(thread.Entries[0].Meta)
	if st.Hunk != "2\nthree" || st.Side != "after" || !strings.HasPrefix(st.Version, "ahp-blob:/") {
		t.Errorf("the stamp is %+v", st)
	}
	if r := thread.Range; r.Start.Line != 1 || r.End.Line != 2 || r.End.Character != 5 {
		t.Errorf("the range is %+v", r)
	}
	if !strings.HasSuffix(thread.Entries[0].Text.Text, "```suggestion\ntwo\nthree\n```") ||
		thread.Origin.TurnID != "t1" {
		t.Errorf("the comment is %q of %+v", thread.Entries[0].Text.Text, thread.Origin)
	}

	w.ok(c, "add_comment", map[string]any{"file": filepath.Join(w.dir, "a.txt"), "line": 10, "side": "before",
		"text": "This went."})
	if st, _ := core.ReadStamp(w.threads(one)[1].Entries[0].Meta); st.Hunk != "ten" || st.Side != "before" {
		t.Errorf("what was removed is quoted as %+v", st)
	}
	w.ok(c, "add_comment", map[string]any{"file": "new.bin", "text": "What is this?"})
	if got := w.ok(c, "list_comments", nil); !strings.Contains(got, "a.txt, line 10 of the side before") ||
		!strings.Contains(got, "new.bin (the whole file)") {
		t.Errorf("the list is %s", got)
	}
	for says, args := range map[string]map[string]any{
		"3 lines":               {"file": "a.txt", "line": 4, "text": "x"},
		"count from 1":          {"file": "a.txt", "line": 3, "end_line": 2, "text": "x"},
		"outside of":            {"file": "../secret", "line": 1, "text": "x"},
		"no file":               {"file": "none.txt", "line": 1, "text": "x"},
		"Side is before":        {"file": "a.txt", "line": 1, "side": "left", "text": "x"},
		"empty":                 {"file": "a.txt", "line": 1, "text": " "},
		"not text":              {"file": "new.bin", "line": 1, "text": "x"},
		"no earlier version":    {"file": "new.bin", "side": "before", "text": "x"},
		"needs the lines":       {"file": "a.txt", "text": "x", "suggestion": "y"},
		"these lines already":   {"file": "a.txt", "line": 1, "text": "x", "suggestion": "one"},
		"too long":              {"file": "a.txt", "line": 1, "text": strings.Repeat("x", 70_000)},
		"additional properties": {"file": "a.txt", "text": "x", "colour": "red"},
		"missing properties":    {"text": "x"},
	} {
		if args != nil {
			w.fails(c, "add_comment", args, says)
		}
	}
	w.fails(c, "reply_to_comment", map[string]any{"id": "none", "text": "x"}, "list_comments")
	if n := len(w.threads(one)); n != 3 {
		t.Errorf("what was refused left %d threads", n)
	}
}

// An agent reaches only its own session, whatever it names.
func TestSessionsDoNotLeak(t *testing.T) {
	w := newWorld(t, Limits{})
	a, b := w.open(one), w.open(two)
	if a.Headers["Authorization"] == b.Headers["Authorization"] {
		t.Fatal("two agents have one token")
	}
	ca, cb := w.connect(a, nil), w.connect(b, nil)
	id := w.comment(one, "a.txt", 3, "a secret of one")
	if got := w.ok(cb, "list_comments", map[string]any{"status": "all"}); strings.Contains(got, "secret") {
		t.Errorf("two reads %s", got)
	}
	for _, tool := range []string{"get_comment", "resolve_comment", "reply_to_comment"} {
		args := map[string]any{"id": id}
		if tool == "reply_to_comment" {
			args["text"] = "x"
		}
		w.fails(cb, tool, args, "no comment with this id")
	}
	if got := w.ok(ca, "list_comments", nil); !strings.Contains(got, "secret") {
		t.Errorf("one reads %s", got)
	}
	if w.threads(one)[0].Resolved || len(w.threads(one)[0].Entries) != 1 {
		t.Error("two changed one's thread")
	}
}

func TestPageLongLists(t *testing.T) {
	w := newWorld(t, Limits{Output: 20_000})
	c := w.connect(w.open(one), nil)
	for i := range 60 {
		w.comment(one, "a.txt", 3, strings.Repeat("word ", 100)+string(rune('a'+i%26))+string(rune('a'+i/26)))
	}
	if got := w.ok(c, "list_comments", nil); len(got) > 20_100 || !strings.Contains(got, "cut off") {
		t.Errorf("%d bytes: …%s", len(got), got[len(got)-100:])
	}
	if got := w.ok(c, "list_comments", map[string]any{"offset": 50}); !strings.HasPrefix(got,
		"60 open comments, here 51 to 60:") {
		t.Errorf("the second page: %.200s", got)
	}
}
