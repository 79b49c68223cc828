package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testsNamed returns the tests of the repository, by name.
func testsNamed(t *testing.T) map[string]bool {
	t.Helper()
	all, named := map[string]bool{}, regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range named.FindAllSubmatch(b, -1) {
			all[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every threat in docs/security.md has a test, and every test named there exists.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	known, name := testsNamed(t), regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	threats := false
	rows := 0
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		for _, m := range name.FindAllStringSubmatch(line, -1) {
			if !known[m[1]] {
				t.Errorf("%s is named in docs/security.md, and is no test", m[1])
			}
		}
		switch cells := strings.Split(strings.Trim(line, "| "), " | "); {
		case line == "| threat | defence | test |":
			threats = true
		case !strings.HasPrefix(line, "|"):
			threats = false
		case threats && !strings.HasPrefix(line, "| ---"):
			rows++
			if len(cells) != 3 || !name.MatchString(cells[2]) {
				t.Errorf("no test is named for the threat: %s", line)
			}
		}
	}
	if rows < 40 {
		t.Errorf("only %d threats were found: this test looks in the wrong place", rows)
	}
}
