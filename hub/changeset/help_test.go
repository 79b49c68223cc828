package changeset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/machine"
)

// place is a user's directory with a service.
type place struct {
	t    *testing.T
	dir  string
	data string
	svc  *Service
}

var session = machine.Workspace{Session: "ahp-session:/one"}

// revertFiles plans and carries out, as the host does, and returns how to undo it.
func (p *place) revertFiles(tops []machine.Tree, files []machine.ChangedFile,
	lines *machine.Lines) (machine.Rewrite, error) {
	p.t.Helper()
	r, err := p.svc.PlanRevert(p.t.Context(), session, tops, files, lines)
	if err != nil {
		return r, err
	}
	return r, p.svc.CarryOut(p.t.Context(), session, r)
}

func (p *place) discardFiles(tops []machine.Tree, files []machine.ChangedFile,
	lines *machine.Lines) (machine.Rewrite, error) {
	p.t.Helper()
	r, err := p.svc.PlanDiscard(p.t.Context(), session, tops, files, lines)
	if err != nil {
		return r, err
	}
	return r, p.svc.CarryOut(p.t.Context(), session, r)
}

func newPlace(t *testing.T) *place {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	p := &place{t: t, dir: filepath.Join(t.TempDir(), "work tree"), data: filepath.Join(t.TempDir(), "checkpoints")}
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.svc = New(Config{Dir: p.data, Worktrees: filepath.Join(t.TempDir(), "trees")})
	whole := p.dir
	t.Cleanup(func() { p.fsck(whole) })
	return p
}

// fsck checks that a repository is valid after a test.
func (p *place) fsck(dir string) {
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		p.gitIn(dir, "fsck", "--full", "--strict", "--no-dangling")
	}
}

// newRepo returns a place with one commit of a.txt and sub/b.txt.
func newRepo(t *testing.T) *place {
	p := newPlace(t)
	p.git("init", "-q", "-b", "main")
	p.write("a.txt", "one\ntwo\nthree\n")
	p.write("sub/b.txt", "b\n")
	p.commit()
	return p
}

func (p *place) git(args ...string) string {
	p.t.Helper()
	return p.gitIn(p.dir, args...)
}

func (p *place) gitIn(dir string, args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=Ana", "GIT_AUTHOR_EMAIL=ana@example.org", "GIT_COMMITTER_NAME=Ana",
		"GIT_COMMITTER_EMAIL=ana@example.org", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow",
		"GIT_CONFIG_VALUE_0=always")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *place) commit() {
	p.t.Helper()
	p.git("add", "-A")
	p.git("commit", "-q", "-m", "commit")
}

func (p *place) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p *place) write(name, content string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) remove(name string) {
	p.t.Helper()
	if err := os.RemoveAll(p.path(name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) checkpoint() machine.Checkpoint {
	p.t.Helper()
	c, err := p.svc.Checkpoint(p.t.Context(), session, []string{p.dir})
	if err == nil {
		err = p.svc.Keep(p.t.Context(), session, c)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return c
}

func (p *place) compare(from, to machine.Checkpoint) []machine.ChangedFile {
	p.t.Helper()
	files, err := p.svc.Compare(p.t.Context(), session, from, to)
	if err != nil {
		p.t.Fatal(err)
	}
	return files
}

func (p *place) content(oid string) string {
	p.t.Helper()
	data, err := p.svc.Content(p.t.Context(), session, oid)
	if err != nil {
		p.t.Fatalf("content %s: %v", oid, err)
	}
	return string(data)
}

// changes runs f between two checkpoints and returns the changes, one line per file.
func (p *place) changes(f func()) []string {
	p.t.Helper()
	before := p.checkpoint()
	f()
	frozen := p.freeze()
	files := p.compare(before, p.checkpoint())
	frozen()
	return summary(files)
}

// summary returns one line per file: status, path and what else tests check.
func summary(files []machine.ChangedFile) (out []string) {
	for _, f := range files {
		line := fmt.Sprintf("%c %s", f.Status, f.Path)
		if f.OldPath != "" {
			line = fmt.Sprintf("%c %s → %s", f.Status, f.OldPath, f.Path)
		}
		switch {
		case f.Skipped != "":
			line += " (" + f.Skipped + ")"
		case f.Binary:
			line += " binary"
		default:
			line += fmt.Sprintf(" +%d −%d", f.Additions, f.Deletions)
		}
		if f.OldMode != "" && f.NewMode != "" && f.OldMode != f.NewMode {
			line += " " + f.OldMode + "→" + f.NewMode
		}
		out = append(out, line)
	}
	return out
}

func (p *place) want(got []string, want ...string) {
	p.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		p.t.Error(d)
	}
}

// freeze records every file below the directory, including .git. The returned function fails if any
// content, mode or modification time changed.
func (p *place) freeze() func() {
	p.t.Helper()
	before := p.everything()
	return func() {
		p.t.Helper()
		if d := cmp.Diff(before, p.everything()); d != "" {
			p.t.Errorf("the user's files changed: %s", d)
		}
	}
}

func (p *place) everything() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum := ""
		if info.Mode().IsRegular() && info.Mode().Perm()&0o400 != 0 {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			h := sha256.Sum256(data)
			sum = hex.EncodeToString(h[:])
		}
		all[path] = fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano(), sum)
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}
