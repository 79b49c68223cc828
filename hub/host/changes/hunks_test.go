package changes

import (
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/host/core"
)

// Marks are in the durable record, and their number per file is limited.
func TestHunkMarksAreBounded(t *testing.T) {
	var rec ledgerRecord
	var all []string
	for i := range mostHunkMarks + 5 {
		all = append(all, strings.Repeat("x", i+1))
	}
	rec.reviewHunks("file", HunkReview{Version: "v", Keys: all, All: all, Reviewed: true}, "v",
		core.Identity{Name: "Ana"}, time.Now())
	if len(rec.Hunks["file"]) != mostHunkMarks || rec.Marks["file"].Hash != "v" {
		t.Errorf("%d marks, file %q", len(rec.Hunks["file"]), rec.Marks["file"].Hash)
	}
	rec.reviewHunks("file", HunkReview{Version: "old", Keys: all[:1], All: all[:1], Reviewed: true}, "new",
		core.Identity{}, time.Now())
	if rec.Marks["file"].Hash != "v" {
		t.Error("marks of a version that is gone say the new one is reviewed")
	}
}
