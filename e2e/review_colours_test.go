package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestColoursOfLargeReviewFollow opens a review of more code than is coloured while its reader waits: the rest has its
// colours when the page is loaded again.
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
