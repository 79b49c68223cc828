package web

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Scripts may create only the Trusted Types policies that the header names, and the header names
// only those that scripts create.
func TestPolicyNames(t *testing.T) {
	named := map[string]bool{}
	for _, policy := range []string{pagePolicy, framePolicy} {
		_, names, _ := strings.Cut(policy, "; trusted-types ")
		for _, n := range strings.Fields(names) {
			named[n] = false
		}
	}
	if len(named) != 2 {
		t.Errorf("pages and frames of terminals should allow a policy each: %v", named)
	}
	made := regexp.MustCompile(`createPolicy\(\s*['"]([^'"]+)['"]`)
	err := filepath.WalkDir("../static/js", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".js" {
			return err
		}
		src, err := os.ReadFile(path)
		for _, m := range made.FindAllStringSubmatch(string(src), -1) {
			if _, ok := named[m[1]]; !ok {
				t.Errorf("%s makes the policy %q, which the header does not allow", path, m[1])
			}
			named[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, used := range named {
		if !used {
			t.Errorf("the header allows the policy %q, which no script makes", n)
		}
	}
}

func FuzzLocalPath(f *testing.F) {
	for _, s := range []string{"/", "/s/x?a=b#c", "//evil.example", "/\\evil.example", "https://evil.example", "",
		"/\t/evil.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := localPath(s)
		if !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.HasPrefix(got, "/\\") {
			t.Errorf("%q leads to %q", s, got)
		}
	})
}
