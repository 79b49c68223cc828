package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestColoursOfLargeReviewFollow opens a review of more code than is coloured while its reader waits: the rest gets its
// colours by patches, in place.
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
	r.ana.Wait(`[...document.querySelectorAll('#files .file')].every(f => f.querySelector('.r i.k') && f.querySelector('.r i.c, .r b.c'))`)
	if after := Eval[int](r.ana, rows); after != before {
		t.Errorf("%d rows became %d with their colours", before, after)
	}
	r.ana.leave()
	r.ben.leave()
}
