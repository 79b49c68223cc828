package resource

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

func at(n int64) *int64 { return &n }

// AHP requirements 171 to 174 and 180, and 209: no link leads out.
func TestPut(t *testing.T) {
	const append, insert = ahp.ResourceWriteModeAppend, ahp.ResourceWriteModeInsert
	cases := []struct {
		name, path string
		p          ahp.ResourceWriteParams
		want       string // of the file afterwards
		code       int
	}{
		{"a new file", "new", ahp.ResourceWriteParams{Data: "x"}, "x", 0},
		{"binary", "new", ahp.ResourceWriteParams{Data: "aMOp", Encoding: "base64"}, "hé", 0},
		{"overwrite", "a.txt", ahp.ResourceWriteParams{Data: "x"}, "x", 0},
		{"from a position on", "a.txt", ahp.ResourceWriteParams{Data: "x", Position: at(2)}, "tex", 0},
		{"at the end", "a.txt", ahp.ResourceWriteParams{Data: "x", Mode: append}, "text\nx", 0},
		{"before the end", "a.txt", ahp.ResourceWriteParams{Data: "xy", Mode: append, Position: at(1)}, "textxy\n", 0},
		{"in the middle", "a.txt", ahp.ResourceWriteParams{Data: "xyz", Mode: insert, Position: at(1)}, "txyzext\n", 0},
		{"at the beginning", "a.txt", ahp.ResourceWriteParams{Data: "x", Mode: insert}, "xtext\n", 0},
		{"append to nothing", "new", ahp.ResourceWriteParams{Data: "x", Mode: append}, "x", 0},
		{"by a link", "in", ahp.ResourceWriteParams{Data: "[]"}, "[]", 0},
		{"create only", "new", ahp.ResourceWriteParams{Data: "x", CreateOnly: ahp.Ptr(true)}, "x", 0},
		{"create only what is there", "a.txt", ahp.ResourceWriteParams{Data: "x", CreateOnly: ahp.Ptr(true)}, "text\n",
			ahp.CodeAlreadyExists},
		{"another version", "a.txt", ahp.ResourceWriteParams{Data: "x", IfMatch: "0-0"}, "text\n", ahp.CodeConflict},
		{"a version of nothing", "new", ahp.ResourceWriteParams{Data: "x", IfMatch: "0-0"}, "", ahp.CodeConflict},
		{"no directory", "nowhere/new", ahp.ResourceWriteParams{Data: "x"}, "", ahp.CodeNotFound},
		{"a file as directory", "a.txt/new", ahp.ResourceWriteParams{Data: "x"}, "", ahp.CodeNotFound},
		{"a directory", "sub", ahp.ResourceWriteParams{Data: "x"}, "", ahp.CodeInvalidParams},
		{"behind the end", "a.txt", ahp.ResourceWriteParams{Data: "x", Position: at(9)}, "text\n",
			ahp.CodeInvalidParams},
		{"before the beginning", "a.txt", ahp.ResourceWriteParams{Data: "x", Mode: append, Position: at(9)}, "text\n",
			ahp.CodeInvalidParams},
		{"a negative position", "a.txt", ahp.ResourceWriteParams{Data: "x", Mode: append, Position: at(-1)}, "text\n",
			ahp.CodeInvalidParams},
		{"another mode", "a.txt", ahp.ResourceWriteParams{Data: "x", Mode: "later"}, "text\n", ahp.CodeInvalidParams},
		{"another encoding", "a.txt", ahp.ResourceWriteParams{Data: "x", Encoding: "rot13"}, "text\n",
			ahp.CodeInvalidParams},
		{"no base64", "a.txt", ahp.ResourceWriteParams{Data: "?", Encoding: "base64"}, "text\n", ahp.CodeInvalidParams},
		{"dots that leave", "../outside/secret", ahp.ResourceWriteParams{Data: "x"}, "secret",
			ahp.CodePermissionDenied},
		{"a link that leaves", "out", ahp.ResourceWriteParams{Data: "x"}, "secret", ahp.CodePermissionDenied},
		{"a new file behind a link that leaves", "outdir/new", ahp.ResourceWriteParams{Data: "x"}, "",
			ahp.CodePermissionDenied},
		{"create only by a link that leaves", "absout", ahp.ResourceWriteParams{Data: "x", CreateOnly: ahp.Ptr(true)},
			"secret", ahp.CodePermissionDenied},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files, dir, _ := tree(t)
			c.p.URI = "file://" + dir + "/" + c.path
			err := files.Put(c.p)
			got, _ := os.ReadFile(filepath.Join(dir, c.path))
			if code(err) != c.code || string(got) != c.want {
				t.Errorf("%v and %q; want code %d and %q", err, got, c.code, c.want)
			}
		})
	}
}

// AHP requirement 172: of several writers that match the version they read, one succeeds.
func TestOneOfManyWritesItsVersion(t *testing.T) {
	files, dir, _ := tree(t)
	uri := URI(dir) + "/a.txt"
	seen, err := files.Resolve(uri, true)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			errs[i] = files.Put(ahp.ResourceWriteParams{URI: uri, Data: strings.Repeat("x", 10+i), IfMatch: seen.Etag})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch code(err) {
		case 0:
			won++
		case ahp.CodeConflict:
		default:
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d writers won", won)
	}
}

// AHP requirement 173: concurrent appends lose nothing.
func TestAppendsDoNotCollide(t *testing.T) {
	files, dir, _ := tree(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 20 {
				p := ahp.ResourceWriteParams{URI: URI(dir) + "/log", Data: fmt.Sprintf("%d-%02d\n", i, n),
					Mode: ahp.ResourceWriteModeAppend}
				if n%5 == 4 {
					p.Position = at(0)
				}
				if err := files.Put(p); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, _ := os.ReadFile(filepath.Join(dir, "log"))
	if lines := strings.Fields(string(got)); len(lines) != 160 {
		t.Errorf("%d of 160 lines are there", len(lines))
	}
}
