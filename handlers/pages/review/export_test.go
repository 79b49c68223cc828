package review

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/templ/part"
)

func said(by, text string) []part.Entry {
	return []part.Entry{{ID: "1", By: by, ByID: "guest:x", Text: text, At: time.Date(2026, 5, 4, 10, 0, 0, 0,
		time.UTC)}}
}

func TestReviewAsMarkdown(t *testing.T) {
	x := export{title: "Fix *it*", origin: "https://hub.example.com", base: "/s/ab",
		verdicts: []part.Verdict{{By: "Ana", Kind: "approve", End: "withdrawn", Changed: []string{"b`.go"}},
			{By: "Ben_2", Kind: "changes", Summary: "No.\n\n# Really"}},
		threads: []part.Thread{
			{ID: "t 2", Path: "b.go", Side: part.After, From: 2, To: 3, Quote: "a\n```\nb",
				Entries: said("Ben", "Why?\n> quoted"), Resolved: true},
			{ID: "t1", Path: "b.go", Side: part.After, Entries: said("Ana", "All of it"), Outdated: true},
			{ID: "t3", Path: "a.go", Side: part.Before, From: 7, To: 7, Entries: said("Ana", "old"), MovedFrom: 5},
		}}
	got := string(x.markdown())
	at := 0
	for _, want := range []string{
		`# Review: Fix \*it\*`, "<https://hub.example.com/s/ab/changes>", "## Reviews",
		`- **Ben\_2 requests changes** on`, "  No.\n\n  # Really", "- **Ana approved** on", "(cleared: 1 file changed)",
		"  - `` b`.go ``", "## Threads\n\n2 open, 1 resolved.", "### `a.go`",
		"[Line 7 (before)](https://hub.example.com/s/ab/changes#thread-t3) · open, written on line 5", "### `b.go`",
		"[Whole file]", "its lines no longer exist",
		"[Lines 2–3](https://hub.example.com/s/ab/changes#thread-t%202) · resolved", "````\na\n```\nb\n````",
		"> **Ben** on 2026-05-04 10:00 UTC\n>\n> Why?\n> > quoted",
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or comes too early, in\n%s", want, got)
		}
		at += i
	}
}

// git applies a patch with comments, whatever they contain and wherever they are.
func TestPatchWithCommentsApplies(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	write := func(files map[string]string) {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	git("init", "-q")
	write(map[string]string{"a.txt": "one\ntwo\n", "b.txt": "no newline", "c c.txt": "x\n", "pic": "\x00\x01"})
	git("add", "-A")
	git("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "commit", "-qm", "first")
	after := map[string]string{"a.txt": "one\nTWO\nthree\n", "b.txt": "no newline still", "c c.txt": "y\n",
		"pic": "\x00\x02", "new.txt": "new\n"}
	write(after)
	git("add", "-A")
	patch := git("diff", "--cached", "--binary", "--full-index")
	git("reset", "-q", "--hard")

	hostile := "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+evil\n\r\ndiff --git a/x " +
		"b/x\n\\ No newline\n-- \n2.1"
	x := export{title: hostile, base: "/s/ab", verdicts: []part.Verdict{{By: "Ana", Kind: "changes", Summary: hostile}}}
	for _, path := range []string{"a.txt", "b.txt", "c c.txt", "pic", "new.txt", "elsewhere.txt"} {
		x.threads = append(x.threads, part.Thread{ID: path, Path: path, Side: part.After, From: 1, To: 1,
			Quote: hostile, Entries: said(hostile, hostile)})
	}
	commented := x.patch([]byte(patch))
	name := filepath.Join(t.TempDir(), "review.patch")
	if err := os.WriteFile(name, commented, 0o600); err != nil {
		t.Fatal(err)
	}
	git("apply", "--check", name)
	git("apply", name)
	for name, want := range after {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s reads %q, want %q: %v", name, got, want, err)
		}
	}
	text := string(commented)
	order := []int{strings.Index(text, "| Review:"), strings.Index(text, "| a.txt"),
		strings.Index(text, "\ndiff --git a/a.txt"), strings.Index(text, "| b.txt"),
		strings.Index(text, "\ndiff --git a/b.txt"), strings.Index(text, "| elsewhere.txt")}
	for i, at := range order {
		if at < 0 || i > 0 && at < order[i-1] {
			t.Errorf("a comment does not stand before its file: %v", order)
		}
	}
}
