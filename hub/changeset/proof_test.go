package changeset

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// pair is a file before and after.
type pair struct{ old, new []byte }

// randomPairs returns texts with few distinct lines, so that many comparisons are possible, with
// all kinds of edits.
func randomPairs(n int) []pair {
	r := rand.New(rand.NewPCG(1, 500))
	out := make([]pair, n)
	for i := range out {
		old := randomLines(r, r.IntN(120))
		new := slices.Clone(old)
		for range 1 + r.IntN(8) {
			new = randomEdit(r, new)
		}
		out[i] = pair{joined(r, old), joined(r, new)}
	}
	return out
}

var someLines = []string{"", "", "}", "\t}", "{", "\treturn nil", "ünïcödé → 漢字 🎉", "a \\ backslash", "-- dashes",
	"+++ b/plus", "@@ -1 +1 @@", "\ttrailing \t", "\xff\xfe not UTF-8", "a\rb"}

func randomLines(r *rand.Rand, n int) []string {
	out := make([]string, n)
	for i := range out {
		if out[i] = someLines[r.IntN(len(someLines))]; r.IntN(2) == 0 {
			out[i] = fmt.Sprintf("\tvalue%d := call(%d)", r.IntN(40), r.IntN(5))
		}
	}
	return out
}

func randomEdit(r *rand.Rand, lines []string) []string {
	from := r.IntN(len(lines) + 1)
	to := min(len(lines), from+r.IntN(8))
	block := slices.Clone(lines[from:to])
	switch r.IntN(6) {
	case 0:
		return slices.Insert(slices.Clone(lines), from, randomLines(r, 1+r.IntN(6))...)
	case 1:
		return slices.Delete(slices.Clone(lines), from, to)
	case 2:
		rest := slices.Delete(slices.Clone(lines), from, to)
		return slices.Insert(rest, r.IntN(len(rest)+1), block...)
	case 3:
		for i := range block {
			block[i] = strings.TrimSuffix(block[i], "\r") + "\r"
		}
	case 4:
		for i := range block {
			block[i] += "x"
		}
	default:
		block = append(block, block...)
	}
	return slices.Replace(slices.Clone(lines), from, to, block...)
}

func joined(r *rand.Rand, lines []string) []byte {
	end := "\n"
	if r.IntN(12) == 0 {
		end = "\r\n"
	}
	text := strings.Join(lines, end)
	if len(lines) > 0 && r.IntN(5) > 0 {
		text += end
	}
	return []byte(text)
}

// lastCommits returns the files changed by the last commits of this repository, before and after.
func lastCommits(t *testing.T, p *place, n int) (pairs []pair) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", here, "rev-list", "--no-merges", "--count", "HEAD").Output(); err != nil {
		t.Skipf("THE PROOF ON REAL COMMITS DOES NOT RUN: this is no git repository (%v)", err)
	} else if have, _ := strconv.Atoi(strings.TrimSpace(string(out))); have < n {
		t.Skipf("THE PROOF ON REAL COMMITS DOES NOT RUN: this clone has %d of the %d commits it takes", have, n)
	}
	raw := p.gitIn(here, "log", "--no-merges", "-n", strconv.Itoa(n), "--format=", "--raw", "--no-abbrev",
		"--no-renames", "--diff-filter=M")
	var ask bytes.Buffer
	for _, line := range strings.Split(raw, "\n") {
		if f := strings.Fields(line); len(f) > 4 && f[0] == ":100644" && f[1] == "100644" {
			fmt.Fprintf(&ask, "%s\n%s\n", f[2], f[3])
		}
	}
	cmd := exec.Command("git", "-C", here, "cat-file", "--batch")
	cmd.Stdin = &ask
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var last []byte
	for i := 0; len(out) > 0; i++ {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		size, err := strconv.Atoi(string(head[bytes.LastIndexByte(head, ' ')+1:]))
		if err != nil {
			t.Fatalf("git answers %q", head)
		}
		if i%2 == 1 && !diff.IsBinary(last) && !diff.IsBinary(rest[:size]) {
			pairs = append(pairs, pair{last, rest[:size]})
		}
		last, out = rest[:size], rest[size+1:]
	}
	return pairs
}

// unified writes a comparison as a patch.
func unified(out *bytes.Buffer, name string, f *diff.File) {
	if len(f.Hunks) == 0 {
		return
	}
	fmt.Fprintf(out, "diff --git a/%[1]s b/%[1]s\n--- a/%[1]s\n+++ b/%[1]s\n", name)
	for _, h := range f.Hunks {
		fmt.Fprintf(out, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, row := range h.Rows {
			fmt.Fprintf(out, "%c%s\n", " +-"[row.Kind], row.Text)
			if row.NoNewline {
				out.WriteString("\\ No newline at end of file\n")
			}
		}
	}
}

// prove compares every pair, applies the patches with git and compares their number of changed
// lines with git's minimum.
func prove(t *testing.T, p *place, pairs []pair) {
	t.Helper()
	dir := t.TempDir()
	var patch bytes.Buffer
	ours := 0
	for i, c := range pairs {
		name := fmt.Sprintf("f%d", i)
		f := diff.Compute(c.old, c.new, diff.Options{NoWords: true})
		unified(&patch, name, f)
		ours += f.Additions + f.Deletions
		for side, data := range map[string][]byte{"a": c.old, "b": c.new, "got": c.old} {
			put(t, filepath.Join(dir, side, name), data)
		}
	}
	cmd := exec.Command("git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Stdin, cmd.Env = filepath.Join(dir, "got"), &patch, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+
		dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git does not take our patch: %v\n%.2000s", err, out)
	}
	for i, c := range pairs {
		if got, _ := os.ReadFile(filepath.Join(dir, "got", fmt.Sprintf("f%d", i))); !bytes.Equal(got, c.new) {
			t.Errorf("pair %d: the patch makes another file", i)
		}
	}
	fewest := minimal(t, dir)
	t.Logf("%d files: %d changed lines, git diff --minimal has %d (%+.2f %%)", len(pairs), ours, fewest,
		100*float64(ours-fewest)/float64(fewest))
	if ours*100 > fewest*102 {
		t.Errorf("our comparisons change %d lines, over 2 %% more than the %d it takes", ours, fewest)
	}
}

func put(t *testing.T, name string, data []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// minimal returns git's minimum number of changed lines.
func minimal(t *testing.T, dir string) (lines int) {
	t.Helper()
	cmd := exec.Command("git", "diff", "--no-index", "--minimal", "--no-renames", "--no-ext-diff", "--text",
		"--numstat", "a", "b")
	cmd.Dir = dir
	out, _ := cmd.Output() // exit status 1 means differences
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		f := strings.Fields(line)
		add, err := strconv.Atoi(f[0])
		del, err2 := strconv.Atoi(f[1])
		if err != nil || err2 != nil {
			t.Fatalf("git counts %q", line)
		}
		lines += add + del
	}
	return lines
}

func TestPatchesOfRandomPairs(t *testing.T) { prove(t, newPlace(t), randomPairs(500)) }

func TestPatchesOfRealCommits(t *testing.T) {
	p := newPlace(t)
	prove(t, p, lastCommits(t, p, 200))
}

// A downloaded patch reproduces the new files exactly.
func TestDownloadedPatchMakesTheNewFiles(t *testing.T) {
	p := newPlace(t)
	p.git("init", "-q")
	pairs := randomPairs(500)
	for i, c := range pairs {
		p.write(fmt.Sprintf("f%d", i), string(c.old))
	}
	before := p.checkpoint()
	for i, c := range pairs {
		p.write(fmt.Sprintf("f%d", i), string(c.new))
	}
	patch, err := p.svc.Patch(t.Context(), session, before, p.checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	got := t.TempDir()
	for i, c := range pairs {
		put(t, filepath.Join(got, fmt.Sprintf("f%d", i)), c.old)
	}
	put(t, filepath.Join(got, "patch"), patch)
	p.gitIn(got, "apply", "--whitespace=nowarn", "patch")
	for i, c := range pairs {
		if data, _ := os.ReadFile(filepath.Join(got, fmt.Sprintf("f%d", i))); !bytes.Equal(data, c.new) {
			t.Errorf("pair %d: the patch makes another file", i)
		}
	}
}
