package static

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func assets(t *testing.T) *Assets {
	t.Helper()
	a, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The cost of loading a page is bounded: compressed bytes of scripts and style sheets.
func TestBudgets(t *testing.T) {
	a := assets(t)
	withImports := func(scripts ...string) []string {
		for _, address := range a.Imports(scripts...) {
			scripts = append(scripts, strings.SplitN(address, "/", 4)[3])
		}
		return scripts
	}
	for _, b := range []struct {
		what  string
		most  int
		files []string
	}{
		{"scripts of the review", 25 << 10, withImports("js/base.js", "js/review.js", "js/review-lines.js", "js/review-comments.js",
			"js/hunks.js", "js/mention.js", "js/presence.js")},
		{"style sheets of the review", 20 << 10, []string{"css/tokens.css", "css/base.css", "css/palette.css",
			"css/review.css", "css/presence.css"}},
		{"scripts of the chat", 15 << 10, withImports("js/base.js", "js/chat.js", "js/chat-send.js")},
		{"the terminal's frame", 130 << 10, append(withImports("js/term.js"), "vendor/xterm/xterm.js",
			"vendor/xterm/xterm.css", "vendor/xterm/addon-fit.js", "css/tokens.css", "css/term.css")},
	} {
		sum := 0
		for _, f := range b.files {
			n := a.Compressed(f)
			if n == 0 {
				t.Errorf("%s is missing", f)
			}
			sum += n
		}
		if t.Logf("%s: %d bytes of %d", b.what, sum, b.most); sum > b.most {
			t.Errorf("%s: %d bytes, at most %d are allowed", b.what, sum, b.most)
		}
	}
}

// Comments and whitespace are not sent: a script that the minifier cannot parse would be served unchanged.
func TestOwnFilesAreMinified(t *testing.T) {
	a := assets(t)
	for name, f := range a.byName {
		if !isModule(name) && !strings.HasPrefix(name, "css/") {
			continue
		}
		if body, _ := f.prepare(); bytes.Contains(body, []byte("\n  ")) || len(body) > len(f.source)*9/10 {
			t.Errorf("%s is served with %d of %d bytes", name, len(body), len(f.source))
		}
	}
}

// A module with two addresses would run twice. All share one hash, import each other by relative
// addresses, and import only existing files.
func TestModulesShareOneTree(t *testing.T) {
	a := assets(t)
	tree := path.Dir(a.Path("js/base.js"))
	for name, f := range a.byName {
		if !isModule(name) {
			continue
		}
		if path.Dir(a.Path(name)) != tree {
			t.Errorf("%s is at %s, and base.js below %s", name, a.Path(name), tree)
		}
		found := imported.FindAllSubmatch(f.source, -1)
		if all := regexp.MustCompile(`(?m)^import | from '`).FindAll(f.source, -1); len(found) == 0 && len(all) > 0 {
			t.Errorf("the imports of %s are not found", name)
		}
		for _, m := range found {
			if a.byName["js/"+string(m[1])] == nil {
				t.Errorf("%s imports %s, which is not there", name, m[1])
			}
		}
	}
	got := a.Imports("js/base.js", "js/review.js", "js/hunks.js")
	for _, want := range []string{"js/dom.js", "js/patch.js", "js/live.js", "js/keys.js"} {
		if !slices.Contains(got, a.Path(want)) {
			t.Errorf("the imports of a review lack %s: %v", want, got)
		}
	}
	if slices.Contains(got, a.Path("js/review.js")) || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Errorf("the imports of a review name a script of the page, or one twice: %v", got)
	}
}

func TestAssetsAreServedForEver(t *testing.T) {
	a := assets(t)
	for accept, encoding := range map[string]string{"": "", "br": "", "gzip": "gzip", "gzip, deflate, br, zstd": "gzip"} {
		r := httptest.NewRequest(http.MethodGet, a.Path("css/base.css"), nil)
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") ||
			!strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") ||
			w.Header().Get("Content-Encoding") != encoding {
			t.Errorf("with %q: %d %v", accept, w.Code, w.Header())
		}
	}
	for _, address := range []string{"/assets/000000000000/css/base.css", "/assets/x", "/assets/", a.Path("css/base.css") +
		"x", "/assets/000000000000/../static.go"} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
		if w.Code != 404 {
			t.Errorf("%s answers %d", address, w.Code)
		}
	}
}

// The content security policy forbids these.
func TestOwnFilesKeepToThePolicy(t *testing.T) {
	for _, dir := range []string{"js", "css"} {
		entries, err := fs.ReadDir(files, dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			b, err := files.ReadFile(dir + "/" + e.Name())
			if err != nil {
				t.Fatal(err)
			}
			if bad := regexp.MustCompile(
				`\beval\(|new Function|document\.write|https?://|setAttribute\('style'|\bon[a-z]+="`).FindString(
				strings.ReplaceAll(string(b), "/^https?:/", "")); bad != "" {
				t.Errorf("%s/%s has %q", dir, e.Name(), bad)
			}
		}
	}
}

// The vendored files match the lock, each with a license.
func TestVendoredFilesMatchTheLock(t *testing.T) {
	lock, err := os.ReadFile("vendor/LOCK")
	if err != nil {
		t.Fatal(err)
	}
	licences := 0
	for line := range strings.Lines(string(lock)) {
		f := strings.Fields(line)
		if len(f) != 4 || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.Contains(f[2], "LICENSE") {
			licences++
		}
		a := assets(t).byName["vendor/"+f[2]]
		if a == nil {
			t.Errorf("%s is not embedded", f[2])
			continue
		}
		if !strings.HasPrefix(f[3], a.hash) {
			t.Errorf("%s is not what the lock says: its hash starts with %s", f[2], a.hash)
		}
	}
	if licences == 0 {
		t.Error("no licence is vendored")
	}
}

// Browsers can parse the served scripts: the minifier's output is a valid module.
func TestServedScriptsParse(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node to parse scripts with")
	}
	dir := t.TempDir()
	for name, f := range assets(t).byName {
		if !isModule(name) {
			continue
		}
		served, _ := f.prepare()
		if err := os.WriteFile(filepath.Join(dir, path.Base(name)), served, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const parse = `const fs = require('fs'), vm = require('vm'), names = fs.readdirSync('.');
		if (names.length < 20) throw new Error('too few scripts');
		for (const name of names) new vm.SourceTextModule(fs.readFileSync(name, 'utf8'), { identifier: name });`
	check := exec.Command(node, "--experimental-vm-modules", "--no-warnings", "-e", parse)
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
}

// The logic of scripts without a page is tested by node's own runner: static/tests.
func TestScriptUnits(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node to run the scripts' tests with")
	}
	tests, err := filepath.Glob("tests/*.test.js")
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests of scripts: %v", err)
	}
	if out, err := exec.Command(node, append([]string{"--test"}, tests...)...).CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
}
