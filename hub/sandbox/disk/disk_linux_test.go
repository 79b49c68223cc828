package disk

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func write(t *testing.T, path string, size int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMeasureCountsWhatTakesRoom(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write(t, dir+"/a/large", 1<<20)
	write(t, dir+"/b/small", 1)
	write(t, other+"/elsewhere", 8<<20)
	sparse, err := os.Create(dir + "/sparse")
	if err != nil {
		t.Fatal(err)
	}
	if err := sparse.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	sparse.Close()
	for i := range 50 {
		if err := os.Link(dir+"/a/large", fmt.Sprintf("%s/b/link%d", dir, i)); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"loop": ".", "b/up": "..", "away": other, "a/away": other + "/elsewhere"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	use := Measure([]string{dir, dir + "/a", dir}, math.MaxInt64)
	const entries = 50 + 9
	if use.Cut != "" || use.Bytes < 1<<20 || use.Bytes > 1<<20+entries*Entry {
		t.Errorf("it takes %d, cut by %q", use.Bytes, use.Cut)
	}
	if len(use.Largest) == 0 || use.Largest[0].Path != dir+"/a" || use.Largest[0].Bytes < 1<<20 {
		t.Errorf("the largest is %+v", use.Largest)
	}
}

// A tree whose paths are too long for the kernel is not measured completely, and reports that.
func TestMeasureStopsInDeepTree(t *testing.T) {
	dir := t.TempDir()
	defer func() { _ = exec.Command("rm", "-rf", dir).Run() }()
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	name := strings.Repeat("d", 200)
	for range 100 {
		if err == nil {
			err = unix.Mkdirat(fd, name, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		below, wrong := unix.Openat(fd, name, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		fd, err = below, wrong
	}
	unix.Close(fd)
	if use := Measure([]string{dir}, math.MaxInt64); use.Cut == "" || use.Bytes > 100*Entry {
		t.Errorf("it takes %d, cut by %q", use.Bytes, use.Cut)
	}
}

// Empty files count as well, and a walk ends at its bound.
func TestMeasureEndsAtBound(t *testing.T) {
	dir := t.TempDir()
	for i := range 2000 {
		write(t, fmt.Sprintf("%s/%d", dir, i), 0)
	}
	if use := Measure([]string{dir}, 1<<20); use.Bytes <= 1<<20 || use.Bytes > 1<<20+2*batch*Entry {
		t.Errorf("it counted %d", use.Bytes)
	}
}

func TestDeletedCountsOpenFilesWithoutName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/gone", 1<<20)
	f, err := os.Open(dir + "/gone")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n := Deleted([]int{os.Getpid()}, []string{dir}); n >= 1<<20 {
		t.Errorf("a file with a name counts: %d", n)
	}
	if err := os.Remove(dir + "/gone"); err != nil {
		t.Fatal(err)
	}
	if n := Deleted([]int{os.Getpid(), os.Getpid()}, []string{dir}); n < 1<<20 || n >= 2<<20 {
		t.Errorf("it counts %d", n)
	}
}

func BenchmarkMeasure(b *testing.B) {
	dir := b.TempDir()
	for i := range 100 {
		for j := range 100 {
			path := fmt.Sprintf("%s/%d/%d", dir, i, j)
			if os.MkdirAll(filepath.Dir(path), 0o755) != nil || os.WriteFile(path, nil, 0o644) != nil {
				b.Fatal(path)
			}
		}
	}
	for b.Loop() {
		Measure([]string{dir}, math.MaxInt64)
	}
}
