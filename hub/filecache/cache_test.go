package filecache

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func open(t *testing.T, cfg Config) *Cache {
	t.Helper()
	cfg.Free = 1
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all
}

func TestEntriesOutliveTheProgram(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	c := open(t, Config{Dir: dir})
	c.Put("a", []byte("one"))
	c.Put("b", nil)
	c = open(t, Config{Dir: dir})
	if got := c.Get("a"); string(got) != "one" {
		t.Errorf("got %q", got)
	}
	if got := c.Get("b"); got == nil || len(got) != 0 {
		t.Errorf("the empty entry is %v", got)
	}
	if got := c.Get("c"); got != nil {
		t.Errorf("what was never put is %q", got)
	}
}

func TestOthersCannotReadEntries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	defer syscall.Umask(syscall.Umask(0))
	open(t, Config{Dir: dir}).Put("a", []byte("one"))
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Join(dir, nameOf("a"))); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
}

// A file in an entry's place that is not the entry is not returned, and is removed.
func TestBrokenEntriesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	c := open(t, Config{Dir: dir})
	c.Put("other", []byte("another one"))
	other, err := os.ReadFile(filepath.Join(dir, nameOf("other")))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, nameOf("a"))
	for what, spoil := range map[string]func() error{
		"one bit":         func() error { return flip(path) },
		"cut short":       func() error { return os.Truncate(path, int64(headerSize+1)) },
		"empty":           func() error { return os.Truncate(path, 0) },
		"of another key":  func() error { return os.WriteFile(path, other, 0o600) },
		"readable by all": func() error { return os.Chmod(path, 0o644) },
		"a link": func() error {
			_ = os.Remove(path)
			return os.Symlink(filepath.Join(dir, nameOf("other")),
				path)
		},
		"a pipe":         func() error { _ = os.Remove(path); return syscall.Mkfifo(path, 0o600) },
		"a directory":    func() error { _ = os.Remove(path); return os.Mkdir(path, 0o700) },
		"much too large": func() error { return os.Truncate(path, 1<<40) },
	} {
		c.Put("a", []byte("one"))
		if err := spoil(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := c.Get("a"); got != nil {
			t.Errorf("%s: it is read as %q", what, got)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s: it is still there: %v", what, err)
		}
	}
	c.Put("a", []byte("one"))
	if string(c.Get("a")) != "one" || string(c.Get("other")) != "another one" {
		t.Error("after all of that nothing is kept any more")
	}
}

func flip(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)-1] ^= 1
	return os.WriteFile(path, b, 0o600)
}

func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	c := open(t, Config{Dir: dir, Bytes: 20_000, Entries: 50})
	for i := range 100 {
		c.Put(strconv.Itoa(i), nil)
		old := time.Now().Add(time.Duration(i-1000) * time.Second)
		if err := os.Chtimes(filepath.Join(dir, nameOf(strconv.Itoa(i))), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(names(t, dir)); n > 50 || n < 30 {
		t.Errorf("%d entries, want at most 50", n)
	}
	if c.Get("99") == nil || c.Get("0") != nil {
		t.Error("not the oldest are gone")
	}
	for i := range 100 {
		c.Put("large"+strconv.Itoa(i), bytes.Repeat([]byte{1}, 3000))
	}
	total := int64(0)
	for _, name := range names(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 20_000 || c.Get("large99") == nil {
		t.Errorf("%d bytes are kept, want at most 20000 and the newest", total)
	}
	c.Put("huge", make([]byte, mostData+1))
	if c.Get("huge") != nil {
		t.Error("an entry over the limit is kept")
	}
}

// Files left by a program that was killed while writing are removed with the next program's first
// entry.
func TestLeftoversAreRemoved(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"new-1-1", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, Config{Dir: dir}).Put("a", []byte("one"))
	if got := names(t, dir); len(got) != 1 || got[0] != nameOf("a") {
		t.Errorf("there are %q", got)
	}
}
