package resource

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// wide creates a directory with links of every kind; each test grants parts of it.
func wide(t *testing.T) (at func(name string) ahp.URI, path func(name string) string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path = func(name string) string { return filepath.Join(top, name) }
	for name, text := range map[string]string{"dir/a": "a", "dir/sub/b": "b", "file": "file", "fileish": "no",
		"secret": "secret"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path(name)), 0o755), os.WriteFile(path(name), []byte(text),
			0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"todir": "dir", "tofile": "file", "dir/out": "../secret",
		"dir/absout": path("secret"), "dir/in": "sub/b", "dir/absin": path("dir/a")} {
		if err := os.Symlink(to, path(link)); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) ahp.URI { return URI(path(name)) }, path
}

func TestGrantedForReading(t *testing.T) {
	at, path := wide(t)
	files := Files{FileReach: machine.FileReach{Granted: []machine.FileGrant{{Path: path("dir"), Dir: true},
		{Path: path("file")}}}}
	for name, want := range map[string]string{"dir/a": "a", "dir/sub/b": "b", "file": "file", "todir/a": "a",
		"tofile": "file", "dir/in": "b", "dir/absin": "a", "secret": "", "fileish": "", "dir/out": "", "dir/absout": "",
		"dir/../secret": "", "todir/../secret": ""} {
		got, err := files.Read(at("") + "/" + name)
		if wantCode := map[bool]int{true: ahp.CodePermissionDenied}[want == ""]; code(err) != wantCode ||
			string(got.Data) != want {
			t.Errorf("%s: %q, %v", name, got.Data, err)
		}
	}
	if got, err := files.List(at("dir/sub")); err != nil || len(got.Entries) != 1 {
		t.Errorf("listing: %v, %v", got, err)
	}
	if got, err := files.Resolve(at("tofile"), true); err != nil || got.URI != at("file") {
		t.Errorf("resolving: %v, %v", got, err)
	}
	for name, err := range map[string]error{
		"write":     files.Put(ahp.ResourceWriteParams{URI: at("dir/a"), Data: "x"}),
		"mkdir":     files.Mkdir(at("dir/new")),
		"delete":    files.Delete(at("dir/a"), false),
		"move":      files.Move(t.Context(), ahp.ResourceMoveParams{Source: at("dir/a"), Destination: at("dir/b")}),
		"copy":      files.Copy(t.Context(), ahp.ResourceCopyParams{Source: at("dir/a"), Destination: at("dir/b")}),
		"of a file": files.Put(ahp.ResourceWriteParams{URI: at("file"), Data: "x"}),
		"asked for": files.CheckOpen(at("dir/a"), true),
		"beside":    files.CheckOpen(at("secret"), false),
		"list file": func() error { _, err := files.List(at("")); return err }(),
	} {
		if code(err) != ahp.CodePermissionDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGrantedForWriting(t *testing.T) {
	at, path := wide(t)
	files := Files{FileReach: machine.FileReach{Granted: []machine.FileGrant{{Path: path("dir"), Dir: true,
		Write: true}, {Path: path("file"), Write: true}}}}
	for name, err := range map[string]error{ // the values are evaluated in this order
		"write":        files.Put(ahp.ResourceWriteParams{URI: at("dir/new"), Data: "x"}),
		"by a link":    files.Put(ahp.ResourceWriteParams{URI: at("tofile"), Data: "by a link"}),
		"mkdir":        files.Mkdir(at("dir/one/two")),
		"mkdir linked": files.Mkdir(at("todir/three/four")),
		"copy": files.Copy(t.Context(), ahp.ResourceCopyParams{Source: at("file"),
			Destination: at("dir/copy")}),
		"move": files.Move(t.Context(), ahp.ResourceMoveParams{Source: at("dir/copy"),
			Destination: at("dir/moved")}),
		"delete":      files.Delete(at("dir/sub"), true),
		"delete link": files.Delete(at("dir/absout"), false),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"the grant itself":  files.Delete(at("dir"), true),
		"a file alone":      files.Delete(at("file"), false),
		"by a link outside": files.Delete(at("tofile"), false),
		"onto a file alone": files.Move(t.Context(), ahp.ResourceMoveParams{Source: at("dir/a"),
			Destination: at("file")}),
		"out":    files.Put(ahp.ResourceWriteParams{URI: at("dir/out"), Data: "x"}),
		"beside": files.Put(ahp.ResourceWriteParams{URI: at("beside"), Data: "x"}),
	} {
		if code(err) != ahp.CodePermissionDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{"secret": "secret", "file": "by a link", "dir/new": "x"} {
		if got, err := os.ReadFile(path(name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
}

// A path that replaces a granted one is not granted.
func TestGrantedAndReplacedByALink(t *testing.T) {
	at, path := wide(t)
	files := Files{FileReach: machine.FileReach{Granted: []machine.FileGrant{{Path: path("dir"), Dir: true,
		Write: true}, {Path: path("file"), Write: true}}}}
	for _, name := range []string{"dir", "file"} {
		if err := errors.Join(os.RemoveAll(path(name)), os.MkdirAll(path("private"), 0o755),
			os.WriteFile(path("private/a"), []byte("secret"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("private", path("dir")), os.Symlink("secret", path("file"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dir/a", "file"} {
		if got, err := files.Read(at(name)); code(err) != ahp.CodePermissionDenied {
			t.Errorf("%s: read %q, %v", name, got.Data, err)
		}
		if err := files.Put(ahp.ResourceWriteParams{URI: at(name), Data: "x"}); code(err) != ahp.CodePermissionDenied {
			t.Errorf("%s: written, %v", name, err)
		}
	}
	if _, err := files.List(at("dir")); code(err) != ahp.CodePermissionDenied {
		t.Errorf("listed: %v", err)
	}
}

// Any requested path opens only granted files.
func FuzzGrantHolds(f *testing.F) {
	top, err := filepath.EvalSymlinks(f.TempDir())
	dir := filepath.Join(top, "dir")
	if err = errors.Join(err, os.MkdirAll(filepath.Join(dir, "sub"), 0o755), os.Symlink("..", filepath.Join(dir, "up")),
		os.Symlink("dir", filepath.Join(top, "to"))); err != nil {
		f.Fatal(err)
	}
	files := Files{FileReach: machine.FileReach{Granted: []machine.FileGrant{{Path: dir, Dir: true, Write: true},
		{Path: filepath.Join(top, "file"), Write: true}}}}
	for _, s := range []string{"dir", "dir/a", "to/a", "to/sub/../x", "dir/up", "dir/up/dir/x", "dir/up/other", "file",
		"file/x", "%2e%2e", "dir/nowhere/x/y", "./", "//dir"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		for _, why := range []purpose{reading, writing, renaming} {
			s, err := files.open("file://"+top+"/"+rel, why)
			if err != nil {
				continue
			}
			s.root.Close()
			if !filepath.IsLocal(s.rel) || s.dir != dir && (!s.alone || s.path() != filepath.Join(top, "file") ||
				why == renaming) {
				t.Fatalf("%q leads to %q in %q", rel, s.rel, s.dir)
			}
		}
	})
}

func TestLook(t *testing.T) {
	at, path := wide(t)
	for name, want := range map[string]machine.FoundFile{"tofile": {Path: path("file")}, "todir": {Path: path("dir"),
		Dir: true}, "dir/../file": {Path: path("file")}} {
		if got, err := Look(at("")+"/"+name, nil); got != want || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := Look(at("nowhere"), nil); code(err) != ahp.CodeNotFound {
		t.Errorf("got %v", err)
	}
	if err := mkfifo(path("pipe")); err == nil {
		if _, err := Look(at("pipe"), nil); code(err) != ahp.CodePermissionDenied {
			t.Errorf("a pipe: %v", err)
		}
	}
}
