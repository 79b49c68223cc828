package guard

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// place is a home directory that contains a data directory.
type place struct {
	t          *testing.T
	home, data string
	guard      *Guard
}

func newPlace(t *testing.T, secrets ...string) *place {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, home: home, data: filepath.Join(home, "share", "ahphub")}
	for _, name := range []string{"share/ahphub/token", "share/ahphub/signin/one", "share/ahphub/agents/x/memory",
		"share/ahphub/worktrees/mine/repo/a.go", "share/ahphub/worktrees/other/repo/a.go", "notes.txt",
		"keys/tls.key"} {
		p.write(name)
	}
	for i, s := range secrets {
		secrets[i] = filepath.Join(home, s)
	}
	if p.guard, err = New(p.data, secrets...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.guard.Close() })
	return p
}

func (p *place) write(name string) {
	p.t.Helper()
	path := filepath.Join(p.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(name), 0o600)); err != nil {
		p.t.Fatal(err)
	}
}

// refuses checks a path by its name and by the opened file.
func (p *place) refuses(path string, want error, own ...string) {
	p.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.home, path)
	}
	if err := p.guard.CheckPath(path, own...); !errors.Is(err, want) {
		p.t.Errorf("%s: %v, want %v", path, err, want)
	}
	f, err := os.Open(path)
	if err != nil {
		return // missing or not readable: only the path is checked
	}
	defer f.Close()
	if err := p.guard.CheckFile(f, own...); !errors.Is(err, want) {
		p.t.Errorf("%s, opened: %v, want %v", path, err, want)
	}
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func TestDataDirectoryIsClosedByAnyName(t *testing.T) {
	p := newPlace(t, "keys/tls.key")
	at := func(name string) string { return filepath.Join(p.home, name) }
	p.must(os.Symlink(p.data, at("dir")))
	p.must(os.Symlink(filepath.Join(p.data, "token"), at("link")))
	p.must(os.Link(filepath.Join(p.data, "token"), at("hard")))
	p.must(os.Link(filepath.Join(p.data, "agents/x/memory"), at("deep")))
	p.must(os.Link(at("keys/tls.key"), at("key")))
	p.must(os.Link(at("notes.txt"), at("twice")))
	for _, path := range []string{"share/ahphub", "share/ahphub/token", "share/ahphub/new", "share/ahphub/new/deeper",
		"share/../share/ahphub/token", "share/ahphub/worktrees", "share/ahphub/worktrees/other/repo/a.go",
		"share/ahphub/signin/one", "dir", "dir/token", "link", "hard", "deep", "key", "keys/tls.key"} {
		p.refuses(path, ErrData)
		p.refuses(path, ErrData, "mine")
	}
	for _, path := range []string{"", "share", "notes.txt", "twice", "new", "new/deeper"} {
		p.refuses(path, nil)
	}
	p.refuses("share/ahphub/worktrees/mine/repo/a.go", ErrData)
	p.refuses("share/ahphub/worktrees/mine/repo/a.go", nil, "mine")
	p.refuses("share/ahphub/worktrees/mine/repo", nil, "other", "mine")
	p.refuses("share/ahphub/worktrees/mine/../other/repo", ErrData, "mine")
	p.must(os.Link(filepath.Join(p.data, "token"), filepath.Join(p.data, "worktrees/mine/repo/hard")))
	p.refuses("share/ahphub/worktrees/mine/repo/hard", ErrData, "mine")
	p.must(os.Symlink(filepath.Join(p.data, "token"), filepath.Join(p.data, "worktrees/mine/repo/link")))
	p.refuses("share/ahphub/worktrees/mine/repo/link", ErrData, "mine")
}

func TestMovedDataDirectoryIsClosed(t *testing.T) {
	p := newPlace(t)
	p.must(os.Rename(p.data, filepath.Join(p.home, "moved")))
	p.write("share/ahphub/innocent")
	p.refuses("moved/token", ErrData)
	p.refuses("moved", ErrData)
	p.refuses("share/ahphub/innocent", nil)
	if err := p.guard.CheckWhole(p.home); !errors.Is(err, ErrData) {
		t.Errorf("its parent may be taken away: %v", err)
	}
}

func TestProtectDirectoriesAroundData(t *testing.T) {
	p := newPlace(t)
	for path, want := range map[string]error{p.home: ErrData, filepath.Join(p.home, "share"): ErrData, p.data: ErrData,
		"/": ErrKernel, filepath.Join(p.home, "keys"): nil, filepath.Join(p.home, "nothing"): nil,
		filepath.Join(p.home, "notes.txt"): nil} {
		if err := p.guard.CheckWhole(path); !errors.Is(err, want) && (path != "/" || !IsRefusal(err)) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	p.must(os.Symlink(p.data, filepath.Join(p.home, "dir")))
	if err := p.guard.CheckName(filepath.Join(p.home, "dir")); err != nil {
		t.Errorf("a link to it cannot be removed: %v", err)
	}
	for _, name := range []string{"token", "new", "worktrees"} {
		if err := p.guard.CheckName(filepath.Join(p.data, name)); !errors.Is(err, ErrData) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !p.guard.Stops(p.data) || p.guard.Stops(filepath.Join(p.home, "keys")) {
		t.Error("a walk does not end at the data directory alone")
	}
}

func TestKernelFilesAreClosed(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("there is no /proc")
	}
	p := newPlace(t)
	var zero *Guard
	for _, path := range []string{"/proc", "/proc/self/environ", "/proc/1/cmdline", "/sys", "/sys/kernel",
		"/dev", "/dev/null", "/dev/shm"} {
		p.refuses(path, ErrKernel)
		if err := zero.CheckPath(path); !errors.Is(err, ErrKernel) {
			t.Errorf("%s without a data directory: %v", path, err)
		}
	}
	p.refuses("/proc/self/root"+p.data+"/token", ErrData)
	p.refuses("/proc/self/root"+p.home+"/notes.txt", nil)
	p.refuses("/", nil)
}
