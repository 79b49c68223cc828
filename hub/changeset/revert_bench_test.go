package changeset

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// BenchmarkRevert reverts changes of files and undoes that.
func BenchmarkRevert(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := b.TempDir()
			b.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			write := func(text string) {
				for i := range n {
					if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), []byte(fmt.Sprint(text, i, "\n")),
						0o600); err != nil {
						b.Fatal(err)
					}
				}
			}
			write("one")
			for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=Ana", "-c",
				"user.email=ana@example.org", "commit", "-qm", "all"}} {
				cmd := exec.Command("git", args...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
			s := New(Config{Dir: b.TempDir()})
			before, err := s.Checkpoint(b.Context(), session, []string{dir})
			if err != nil {
				b.Fatal(err)
			}
			write("two")
			now, err := s.Checkpoint(b.Context(), session, []string{dir})
			if err != nil {
				b.Fatal(err)
			}
			files, err := s.Compare(b.Context(), session, before, now)
			if err != nil || len(files) != n {
				b.Fatal(len(files), err)
			}
			for b.Loop() {
				write("two")
				if err := revertAndTakeBack(b, s, now.Trees, files); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func revertAndTakeBack(b *testing.B, s *Service, tops []machine.Tree, files []machine.ChangedFile) error {
	plan, err := s.PlanRevert(b.Context(), session, tops, files, nil)
	if err != nil {
		return err
	}
	if err := s.CarryOut(b.Context(), session, plan); err != nil {
		return err
	}
	return s.TakeBack(b.Context(), session, plan)
}
