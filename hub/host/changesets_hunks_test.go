package host

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
)

// review marks hunks of a file by their numbers, like the review page.
func (c *changing) review(uri ahp.URI, name string, reviewed bool, which ...int) error {
	c.t.Helper()
	r := changes.HunkReview{File: core.FileURI(filepath.Join(c.dir, name)), Reviewed: reviewed}
	for _, f := range c.changes(uri).Files {
		if f.ID != r.File {
			continue
		}
		r.Version = changes.ReadFileNote(f.Meta).Version()
		d := diff.Compute([]byte(c.blob(f.Edit.Before.Content)), []byte(c.blob(f.Edit.After.Content)), diff.Options{})
		for i := range d.Hunks {
			r.All = append(r.All, d.Hunks[i].Key)
			if slices.Contains(which, i) {
				r.Keys = append(r.Keys, d.Hunks[i].Key)
			}
		}
		if *f.Reviewed {
			r.Implied = r.All
		}
	}
	return c.host.Changes.ReviewHunks(c.t.Context(), c.owner, uri, r)
}

func (c *changing) hunksOf(uri ahp.URI) int {
	return len(changes.ReadFileNote(c.changes(uri).Files[0].Meta).Hunks)
}

func TestHunksAreReviewedOneByOne(t *testing.T) { // AHP requirement 158
	c := newChanging(t)
	far := strings.Repeat("line\n", 20)
	c.write("a.txt", "one\n"+far+"two\n"+far+"end\n")
	c.git("add", "a.txt")
	c.git("-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "-qm", "far")
	c.write("a.txt", "ONE\n"+far+"TWO\n"+far+"end\n")
	uri := c.follow("uncommitted", "")
	c.must(c.review(uri, "a.txt", true, 0))
	c.shows(uri, "M a.txt +2 −2")
	if got := changes.ReadFileNote(c.changes(uri).Files[0].Meta).Hunks; len(got) != 1 || got[0].By.Name != "Ana" ||
		time.Since(got[0].At) > time.Hour {
		t.Errorf("the mark is %+v", got)
	}
	c.must(c.review(uri, "a.txt", true, 1))
	c.shows(uri, "M a.txt +2 −2 reviewed by Ana")

	c.must(c.review(uri, "a.txt", false, 1))
	c.shows(uri, "M a.txt +2 −2")
	if n := c.hunksOf(uri); n != 1 {
		t.Errorf("%d hunks are marked, want the other one alone", n)
	}
	c.write("a.txt", "ONE\n"+far+"TWO\n"+far+"END\n")
	c.shows(uri, "M a.txt +3 −3")
	if n := c.hunksOf(uri); n != 1 {
		t.Errorf("after an edit elsewhere %d hunks are marked, want 1", n)
	}

	c.dispatch(uri, &ahp.ChangesetFilesReviewChangedAction{Files: []string{core.FileURI(filepath.Join(c.dir, "a.txt"))},
		Reviewed: true})
	c.shows(uri, "M a.txt +3 −3 reviewed by Ana")
	c.must(c.review(uri, "a.txt", false, 2)) // the others of a file marked as a whole stay reviewed
	c.shows(uri, "M a.txt +3 −3")
	if n := c.hunksOf(uri); n != 2 {
		t.Errorf("%d hunks are marked, want the two others", n)
	}
	c.dispatch(uri, &ahp.ChangesetFilesReviewChangedAction{Files: []string{core.FileURI(filepath.Join(c.dir, "a.txt"))},
		Reviewed: false})
	c.until("the marks are gone with the file's", func() bool { return c.hunksOf(uri) == 0 })
}

func TestHunkMarksAreRefused(t *testing.T) {
	c := newChanging(t)
	c.write("a.txt", "one\nTWO\n")
	uri := c.follow("uncommitted", "")
	if err := c.host.Changes.ReviewHunks(t.Context(), c.owner, uri, changes.HunkReview{File: "file:///elsewhere",
		Keys: []string{"k"}, All: []string{"k"}}); err == nil {
		t.Error("a hunk of no file was marked")
	}
	if err := c.host.Changes.ReviewHunks(t.Context(), c.owner, uri,
		changes.HunkReview{File: core.FileURI(filepath.Join(c.dir, "a.txt")), Keys: []string{"k"}}); err == nil {
		t.Error("a hunk the file does not have was marked")
	}
	if err := c.host.Changes.ReviewHunks(t.Context(), core.Caller{Principal: viewer}, uri,
		changes.HunkReview{File: core.FileURI(filepath.Join(c.dir, "a.txt")), Keys: []string{"k"}, All: []string{"k"},
			Reviewed: true}); err == nil {
		t.Error("somebody who may only look marked a hunk")
	}
}
