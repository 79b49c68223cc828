package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/host/core"
)

// TestColoursOfLargeReviewFollow opens a review with more code than is coloured while its viewer
// waits: the rest has colours after a reload.
func TestColoursOfLargeReviewFollow(t *testing.T) {
	t.Parallel()
	const n = 12
	code := strings.Repeat("func name(a int) string { return \"text\" } // why\n", 200) // 10 KB
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("f%02d.go", i)] = "package a\n\n" + code
	}
	r := review(t, files)
	for name, text := range files {
		r.write(name, strings.Replace(text, "why", "why not", 7))
	}
	r.cold(r.ana, "/changes?scope=uncommitted")
	rows := `document.querySelectorAll('#files .r').length`
	r.ana.Wait(fmt.Sprintf(`document.querySelectorAll('#files .file').length === %d`, n))
	before := Eval[int](r.ana, rows)
	coloured := `[...document.querySelectorAll('#files .file')].every(f => f.querySelector('.r i.k') && f.querySelector('.r i.c, .r b.c'))`
	for end := time.Now().Add(patience); !Eval[bool](r.ana, coloured); r.cold(r.ana, "/changes?scope=uncommitted") {
		if time.Now().After(end) {
			t.Fatal("some files never get their colours")
		}
	}
	if after := Eval[int](r.ana, rows); after != before {
		t.Errorf("%d rows became %d with their colours", before, after)
	}
	r.ana.leave()
	r.ben.leave()
}

// TestColoursOfTurnOutliveProgram has a turn change more code than is coloured while a viewer
// waits. Its colours are computed when it ends and stored: a restarted program shows them on the
// first view.
func TestColoursOfTurnOutliveProgram(t *testing.T) {
	t.Parallel()
	const n = 12
	code := strings.Repeat("func name(a int) string { return \"text\" } // why\n", 200)
	dir := t.TempDir()
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%02d.go", i)), fmt.Appendf(nil, "package p%d\n\n%s", i,
			code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prog := Start(t, Options{})
	w := watch(t, prog, "ana")
	chat := w.newSession(dir)
	w.say(chat, "t1", `sed -i 's/why/why not/' *.go`)
	kept := filepath.Join(prog.Data, "syntax")
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		list, err := os.ReadDir(kept)
		if err == nil && len(list) == 2*n &&
			!slices.ContainsFunc(list, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "new-") }) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the colours of %d versions are kept, want %d: %v", len(list), 2*n, err)
		}
	}
	prog.Kill9()
	prog.Restart()
	c, _ := signIn(t, prog.SignIn())
	body := waitForPage(t, c, prog.URL+"/s/"+core.ShortID(restarted)+"/changes", `class="r a"`)
	files := strings.Split(body, `<section class="file`)[1:]
	if len(files) != n {
		t.Fatalf("the review has %d files, want %d", len(files), n)
	}
	for i, f := range files {
		if !strings.Contains(f, "<i class=k>func</i>") {
			t.Errorf("file %d has no colours at first sight", i)
		}
	}
}
