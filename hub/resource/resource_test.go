package resource

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// tree creates a granted directory next to one that is not granted.
func tree(t *testing.T) (files Files, dir, outside string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, outside = filepath.Join(top, "granted"), filepath.Join(top, "outside")
	for name, content := range map[string]string{
		"granted/a.txt": "text\n", "granted/sub/b.json": "{}", "granted/pic": "\x89PNG\r\n\x1a\n\x00\xff",
		"granted/odd %2F näme": "odd", "outside/secret": "secret", "granted-too/c": "c",
	} {
		path := filepath.Join(top, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content),
			0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"granted/in": "sub/b.json", "granted/abs": filepath.Join(dir, "a.txt"), "granted/out": "../outside/secret",
		"granted/outdir": outside,
		"granted/absout": filepath.Join(outside, "secret"), "granted/loop": "loop", "granted/dangling": "nowhere",
		"granted/dirlink": "sub",
	} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	return Files{FileReach: machine.FileReach{Roots: []string{dir}}}, dir, outside
}

func code(err error) int {
	if e, ok := errors.AsType[*ahp.Error](err); ok {
		return e.Code
	}
	return 0
}

func TestRead(t *testing.T) {
	files, dir, outside := tree(t)
	base := "file://" + dir
	cases := []struct {
		name, uri, data string
		code            int
	}{
		{"plain", base + "/a.txt", "text\n", 0},
		{"host named", "file://localhost" + dir + "/a.txt", "text\n", 0},
		{"nested", base + "/sub/b.json", "{}", 0},
		{"a name with a percent sign", URI(dir + "/odd %2F näme"), "odd", 0},
		{"dots that stay", base + "/sub/../a.txt", "text\n", 0},
		{"link inside", base + "/in", "{}", 0},
		{"link inside with an absolute target", base + "/abs", "text\n", 0},
		{"missing", base + "/nowhere", "", ahp.CodeNotFound},
		{"dangling link", base + "/dangling", "", ahp.CodeNotFound},
		{"directory", base + "/sub", "", ahp.CodeInvalidParams},
		{"dots that leave", base + "/../outside/secret", "", ahp.CodePermissionDenied},
		{"encoded dots that leave", base + "/%2e%2e/outside/secret", "", ahp.CodePermissionDenied},
		{"encoded separator", base + "/..%2foutside%2fsecret", "", ahp.CodeInvalidParams},
		{"link that leaves", base + "/out", "", ahp.CodePermissionDenied},
		{"absolute link that leaves", base + "/absout", "", ahp.CodePermissionDenied},
		{"directory link that leaves", base + "/outdir/secret", "", ahp.CodePermissionDenied},
		{"link to itself", base + "/loop", "", ahp.CodePermissionDenied},
		{"outside", "file://" + outside + "/secret", "", ahp.CodePermissionDenied},
		{"outside and missing", "file://" + outside + "/nowhere", "", ahp.CodePermissionDenied},
		{"a sibling with the same beginning", base + "-too/c", "", ahp.CodePermissionDenied},
		{"another machine", "file://elsewhere/a.txt", "", ahp.CodePermissionDenied},
		{"zero byte", base + "/a.txt%00", "", ahp.CodeInvalidParams},
		{"another scheme", "https://example.org/", "", ahp.CodeInvalidParams},
		{"no path", "file:", "", ahp.CodeInvalidParams},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := files.Read(c.uri)
			if code(err) != c.code || string(got.Data) != c.data {
				t.Errorf("got %q, %v; want %q, code %d", got.Data, err, c.data, c.code)
			}
		})
	}
}

func TestLargeFileIsRefused(t *testing.T) {
	files, dir, _ := tree(t)
	big := filepath.Join(dir, "big")
	if err := errors.Join(os.WriteFile(big, nil, 0o600), os.Truncate(big, mostBytes+1)); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Read(URI(big)); code(err) != ahp.CodeInvalidParams || !strings.Contains(err.Error(), "16 MB") {
		t.Errorf("got %v", err)
	}
}

func TestList(t *testing.T) {
	files, dir, outside := tree(t)
	got, err := files.List(URI(dir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range got.Entries {
		names = append(names, e.Name+" "+string(e.Type))
	}
	want := []string{"a.txt file", "abs file", "absout file", "dangling file", "dirlink directory", "in file",
		"loop file", "odd %2F näme file", "out file", "outdir file", "pic file", "sub directory"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	for uri, want := range map[string]int{URI(dir) + "/a.txt": ahp.CodeInvalidParams, URI(dir) +
		"/nowhere": ahp.CodeNotFound, URI(dir) + "/outdir": ahp.CodePermissionDenied,
		URI(outside): ahp.CodePermissionDenied} {
		if _, err := files.List(uri); code(err) != want {
			t.Errorf("%s: got %v, want code %d", uri, err, want)
		}
	}
	if empty := filepath.Join(dir, "empty"); os.Mkdir(empty, 0o755) == nil {
		if got, err := files.List(URI(empty)); err != nil || got.Entries == nil || len(got.Entries) != 0 {
			t.Errorf("an empty directory: %v, %v", got, err)
		}
	}
}

func TestResolve(t *testing.T) {
	files, dir, _ := tree(t)
	base := URI(dir)
	got, err := files.Resolve(base+"/in", true)
	if err != nil || got.URI != base+"/sub/b.json" || got.Type != "file" || *got.Size != 2 ||
		got.ContentType != "text/plain; charset=utf-8" && got.ContentType != "application/json" {
		t.Errorf("a link followed: %+v, %v", got, err)
	}
	got, err = files.Resolve(base+"/out", false)
	if err != nil || got.URI != base+"/out" || got.Type != "symlink" {
		t.Errorf("a link itself: %+v, %v", got, err)
	}
	for uri, want := range map[string]int{base + "/out": ahp.CodePermissionDenied, base +
		"/nowhere": ahp.CodeNotFound} {
		if _, err := files.Resolve(uri, true); code(err) != want {
			t.Errorf("%s: got %v, want code %d", uri, err, want)
		}
	}
	before, _ := files.Resolve(base+"/a.txt", true)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("longer text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if after, _ := files.Resolve(base+"/a.txt", true); after.Etag == before.Etag {
		t.Error("the etag is the same after a write")
	}
}

func TestRootIsALink(t *testing.T) {
	_, dir, _ := tree(t)
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(dir, alias); err != nil {
		t.Fatal(err)
	}
	files := Files{FileReach: machine.FileReach{Roots: []string{alias}}}
	for _, uri := range []string{URI(alias) + "/a.txt", URI(dir) + "/a.txt"} {
		if got, err := files.Read(uri); err != nil || string(got.Data) != "text\n" {
			t.Errorf("%s: %q, %v", uri, got.Data, err)
		}
	}
}

func TestPipeDoesNotBlock(t *testing.T) {
	files, dir, _ := tree(t)
	if err := mkfifo(filepath.Join(dir, "pipe")); err != nil {
		t.Skip("no pipes here:", err)
	}
	if _, err := files.Read(URI(dir) + "/pipe"); code(err) != ahp.CodeInvalidParams {
		t.Errorf("got %v", err)
	}
}

func FuzzPathStaysInside(f *testing.F) {
	dir := f.TempDir()
	files := Files{FileReach: machine.FileReach{Roots: []string{dir}}}
	for _, s := range []string{"a", "../x", "%2e%2e/x", "a/../../b", "./", "//", "..%5c..", "\x00", "%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		s, err := files.open("file://"+dir+"/"+rel, reading)
		if err != nil {
			return
		}
		defer s.root.Close()
		if !filepath.IsLocal(s.rel) {
			t.Fatalf("%q leads to %q", rel, s.rel)
		}
	})
}
