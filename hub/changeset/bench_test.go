package changeset

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkCheckpoint takes checkpoints of 10 000 files with one changed file.
func BenchmarkCheckpoint(b *testing.B) {
	dir := b.TempDir()
	b.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for i := range 10_000 {
		name := filepath.Join(dir, fmt.Sprintf("d%d", i%100), fmt.Sprintf("f%d.txt", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Repeat(fmt.Sprintf("line of file %d\n", i), 50)),
			0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=Ana", "-c",
		"user.email=ana@example.org", "commit", "-qm", "all"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := New(Config{Dir: b.TempDir()}).Checkpoint(b.Context(), session, []string{dir}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("keep", func(b *testing.B) {
		for b.Loop() {
			s := New(Config{Dir: b.TempDir()})
			c, err := s.Checkpoint(b.Context(), session, []string{dir})
			if err == nil {
				err = s.Keep(b.Context(), session, c)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("next", func(b *testing.B) {
		s := New(Config{Dir: b.TempDir()})
		last, err := s.Checkpoint(b.Context(), session, []string{dir})
		for i := 0; b.Loop(); i++ {
			if err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "changing"), []byte(fmt.Sprint(i)), 0o600); err != nil {
				b.Fatal(err)
			}
			next, err := s.Checkpoint(b.Context(), session, []string{dir})
			if err != nil || next.Trees[0].OID == last.Trees[0].OID {
				b.Fatalf("the change was missed: %v", err)
			}
			last = next
		}
	})
}
