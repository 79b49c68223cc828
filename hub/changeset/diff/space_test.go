package diff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhiteSpace(t *testing.T) {
	modes := []Space{SpaceAll, SpaceAmount, SpaceNone, SpaceBlank}
	far := numbered(12, "line")
	for name, c := range map[string]struct {
		old, new string
		want     string // additions and deletions by mode
	}{
		"more of it":        {"a b\n", "a   b\n", "1/1 0/0 0/0 1/1"},
		"tab for spaces":    {"    a\n", "\ta\n", "1/1 0/0 0/0 1/1"},
		"some where none":   {"a=b\n", "a = b\n", "1/1 1/1 0/0 1/1"},
		"indented":          {"a\n", "\ta\n", "1/1 1/1 0/0 1/1"},
		"at the end":        {"a\n", "a  \n", "1/1 0/0 0/0 1/1"},
		"line ends":         {"a\n", "a\r\n", "1/1 0/0 0/0 1/1"},
		"empty line":        {"a\nb\n", "a\n\nb\n", "1/0 1/0 1/0 0/0"},
		"empty line, CRLF":  {"a\r\nb\r\n", "a\r\n\r\nb\r\n", "1/0 1/0 1/0 0/0"},
		"near a change":     {"a\nb\nc\n", "a\n\nb\nC\n", "2/1 2/1 2/1 2/1"},
		"far from a change": {"a\n" + far + "c\n", "a\n\n" + far + "C\n", "2/1 2/1 2/1 1/1"},
		"no-break space":    {"a b\n", "a\u00a0b\n", "1/1 1/1 1/1 1/1"},
	} {
		var got []string
		for _, m := range modes {
			f := Compute([]byte(c.old), []byte(c.new), Options{Space: m})
			got = append(got, fmt.Sprintf("%d/%d", f.Additions, f.Deletions))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

// Hidden hunks leave every line of the new side in the context, once and in order.
func TestContextAcrossEmptyLines(t *testing.T) {
	far := numbered(12, "line")
	old, new := "a\n"+far+"b\n\nc\n"+far+"d\n", "a\n\n\n"+far+"b\nc\n"+far+"D\n"
	o := Options{Space: SpaceBlank}
	rows := ContextRows([]byte(old), []byte(new), o, 1, 40)
	var text []string
	for i, r := range rows {
		if r.New != i+1 {
			t.Fatalf("row %d is line %d", i, r.New)
		}
		text = append(text, r.Text)
		if was := strings.Split(old, "\n"); r.Old > 0 && was[r.Old-1] != r.Text {
			t.Errorf("line %d is said to be old line %d: %q, %q", r.New, r.Old, r.Text, was[r.Old-1])
		}
	}
	if want := strings.Split(new, "\n"); strings.Join(text, "\n") != strings.Join(want[:len(text)], "\n") ||
		len(text) < 26 {
		t.Errorf("%d rows: %q", len(text), text)
	}
}

// A comparison shows exactly the changes that git shows with the same option.
func TestWhiteSpaceIsGits(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(3, 9))
	pieces := []string{"a", "b", " ", "  ", "\t", "x y", "", "\r", "end"}
	for round := range 60 {
		var old, new strings.Builder
		for range 5 + rng.IntN(30) {
			line := pieces[rng.IntN(len(pieces))] + pieces[rng.IntN(len(pieces))] + pieces[rng.IntN(len(pieces))]
			old.WriteString(line + "\n")
			switch rng.IntN(8) {
			case 0:
				line += pieces[rng.IntN(len(pieces))]
			case 1:
				line = strings.ReplaceAll(line, " ", "\t")
			case 2:
				new.WriteString("\n")
			}
			new.WriteString(line + "\n")
		}
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		if os.WriteFile(a, []byte(old.String()), 0o600) != nil || os.WriteFile(b, []byte(new.String()), 0o600) != nil {
			t.Fatal("cannot write")
		}
		for flag, mode := range map[string]Space{"-b": SpaceAmount, "-w": SpaceNone,
			"--ignore-blank-lines": SpaceBlank} {
			// differences are its exit code
			out, _ := exec.Command(git, "-c", "core.autocrlf=false", "diff", "--no-index", "--minimal", flag, a,
				b).Output()
			f := Compute([]byte(old.String()), []byte(new.String()), Options{Space: mode})
			if same := !strings.Contains(string(out), "@@"); same != (len(f.Hunks) == 0) {
				t.Errorf("round %d, %s: %d hunks, git says\n%s\n%q\n%q", round, flag, len(f.Hunks), out, old.String(),
					new.String())
			}
		}
	}
}
