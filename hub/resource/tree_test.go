package resource

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// exists returns what is at a path: its content, "dir", "link" or "".
func exists(path string) string {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return "dir"
	case info.Mode()&os.ModeSymlink != 0:
		return "link"
	}
	b, _ := os.ReadFile(path)
	return string(b)
}

// AHP requirement 179.
func TestMkdir(t *testing.T) {
	for path, want := range map[string]int{"sub": 0, "one/two/three": 0, "dirlink": 0, "a.txt": ahp.CodeAlreadyExists,
		"in": ahp.CodeAlreadyExists, "../outside/new": ahp.CodePermissionDenied,
		"outdir/new": ahp.CodePermissionDenied} {
		files, dir, outside := tree(t)
		err := files.Mkdir("file://" + dir + "/" + path)
		if code(err) != want || exists(filepath.Join(outside, "new")) != "" {
			t.Errorf("%s: got %v, want code %d", path, err, want)
		}
		if info, err := os.Stat(filepath.Join(dir, path)); want == 0 && (err != nil || !info.IsDir()) {
			t.Errorf("%s is not there: %v", path, err)
		}
	}
}

// AHP requirement 177.
func TestDelete(t *testing.T) {
	for _, c := range []struct {
		path      string
		recursive bool
		code      int
	}{
		{"a.txt", false, 0}, {"sub", true, 0}, {"outdir", true, 0}, {"out", false, 0}, {"sub/b.json", false, 0},
		{"sub", false, ahp.CodeInvalidParams}, {"nowhere", true, ahp.CodeNotFound},
		{"", true, ahp.CodePermissionDenied},
		{"../outside/secret", false, ahp.CodePermissionDenied}, {"outdir/secret", true, ahp.CodePermissionDenied},
	} {
		files, dir, outside := tree(t)
		err := files.Delete("file://"+dir+"/"+c.path, c.recursive)
		if code(err) != c.code || exists(filepath.Join(outside, "secret")) != "secret" {
			t.Errorf("%s: got %v, want code %d", c.path, err, c.code)
		}
		if c.code == 0 && exists(filepath.Join(dir, c.path)) != "" {
			t.Errorf("%s is still there", c.path)
		}
	}
}

// AHP requirement 176.
func TestCopyAndMove(t *testing.T) {
	cases := []struct {
		from, to string
		only     bool
		code     int
		at, want string // expected content at a path afterwards
	}{
		{"a.txt", "b.txt", true, 0, "b.txt", "text\n"},
		{"a.txt", "sub/b.json", false, 0, "sub/b.json", "text\n"},
		{"sub", "copy", false, 0, "copy/b.json", "{}"},
		{"in", "link", false, 0, "link", "link"},
		{"a.txt", "../granted/b.txt", true, 0, "b.txt", "text\n"},
		{"a.txt", "sub/b.json", true, ahp.CodeAlreadyExists, "sub/b.json", "{}"},
		{"a.txt", "sub", false, ahp.CodeAlreadyExists, "sub", "dir"},
		{"sub", "a.txt", false, ahp.CodeAlreadyExists, "a.txt", "text\n"},
		{"sub", "sub/deeper", false, ahp.CodeInvalidParams, "sub/deeper", ""},
		{"a.txt", "a.txt", false, ahp.CodeInvalidParams, "a.txt", "text\n"},
		{"nowhere", "b.txt", false, ahp.CodeNotFound, "b.txt", ""},
		{"a.txt", "nowhere/b.txt", false, ahp.CodeNotFound, "nowhere", ""},
		{"a.txt", "../outside/new", false, ahp.CodePermissionDenied, "../outside/new", ""},
		{"a.txt", "outdir/new", false, ahp.CodePermissionDenied, "../outside/new", ""},
		{"../outside/secret", "new", false, ahp.CodePermissionDenied, "new", ""},
		{"outdir/secret", "new", false, ahp.CodePermissionDenied, "new", ""},
	}
	for _, c := range cases {
		for _, move := range []bool{false, true} {
			files, dir, outside := tree(t)
			from, to, only := "file://"+dir+"/"+c.from, "file://"+dir+"/"+c.to, ahp.Ptr(c.only)
			before := exists(filepath.Join(dir, c.from))
			err := files.Copy(t.Context(), ahp.ResourceCopyParams{Source: from, Destination: to, FailIfExists: only})
			if move {
				files, dir, outside = tree(t)
				from, to = "file://"+dir+"/"+c.from, "file://"+dir+"/"+c.to
				err = files.Move(t.Context(), ahp.ResourceMoveParams{Source: from, Destination: to, FailIfExists: only})
			}
			if got := exists(filepath.Join(dir, c.at)); code(err) != c.code || got != c.want {
				t.Errorf("%s to %s (move %v): %v and %q; want code %d and %q", c.from, c.to, move, err, got, c.code,
					c.want)
			}
			if left := exists(filepath.Join(dir, c.from)); (left == before) == (move && c.code == 0) {
				t.Errorf("%s to %s (move %v): the source is %q", c.from, c.to, move, left)
			}
			if exists(filepath.Join(outside, "secret")) != "secret" {
				t.Error("a secret is gone")
			}
		}
	}
}

func TestMoveBetweenRoots(t *testing.T) {
	files, dir, outside := tree(t)
	files.Roots = append(files.Roots, outside)
	if err := files.Move(t.Context(), ahp.ResourceMoveParams{Source: URI(dir) + "/sub", Destination: URI(outside) +
		"/sub"}); err != nil {
		t.Fatal(err)
	}
	if got := exists(filepath.Join(outside, "sub/b.json")); got != "{}" || exists(filepath.Join(dir, "sub")) != "" {
		t.Errorf("moved %q, and the source is %q", got, exists(filepath.Join(dir, "sub")))
	}
	if err := files.Move(t.Context(), ahp.ResourceMoveParams{Source: URI(dir), Destination: URI(outside) +
		"/all"}); code(err) != ahp.CodePermissionDenied {
		t.Errorf("a root moved: %v", err)
	}
}

// AHP requirement 181.
func TestOpen(t *testing.T) {
	files, dir, outside := tree(t)
	base := "file://" + dir
	for uri, want := range map[string]int{base: 0, base + "/a.txt": 0, base + "/nowhere/new": 0, base + "/abs": 0,
		base + "/out": ahp.CodePermissionDenied, base + "/outdir/new": ahp.CodePermissionDenied,
		URI(outside): ahp.CodePermissionDenied} {
		if err := files.CheckOpen(uri, false); code(err) != want {
			t.Errorf("%s: got %v, want code %d", uri, err, want)
		}
	}
}
