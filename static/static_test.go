package static

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
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

// What a page costs to load is a promise: compressed bytes of scripts and style sheets.
func TestBudgets(t *testing.T) {
	a := assets(t)
	for _, b := range []struct {
		what  string
		most  int
		files []string
	}{
		{"scripts of the review", 25 << 10, []string{"js/base.js", "js/review.js", "js/review-comments.js",
			"js/hunks.js", "js/mention.js", "js/presence.js"}},
		{"style sheets of the review", 20 << 10, []string{"css/base.css", "css/chat.css", "css/review.css",
			"css/presence.css"}},
		{"scripts of the chat", 15 << 10, []string{"js/base.js", "js/chat.js", "js/chat-send.js"}},
		{"the terminal's frame", 130 << 10, []string{"vendor/xterm/xterm.js", "vendor/xterm/xterm.css",
			"vendor/xterm/addon-fit.js", "js/term.js", "css/term.css"}},
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

// Comments and indentation are not served, so no text of ours may run over several lines, where they would be part
// of it.
func TestScriptsAreServedWithoutComments(t *testing.T) {
	entries, err := fs.ReadDir(files, "js")
	if err != nil {
		t.Fatal(err)
	}
	a := assets(t)
	for _, e := range entries {
		src, err := files.ReadFile("js/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(src), "\n") {
			if strings.Count(strings.ReplaceAll(line, "'```'", ""), "`")%2 != 0 && !strings.Contains(line, "+= '`'") {
				t.Errorf("%s:%d: a text runs over several lines", e.Name(), i+1)
			}
		}
		served := a.byName["js/"+e.Name()].body
		if bad := regexp.MustCompile(`(?m)^(\s|//).*`).Find(served); bad != nil {
			t.Errorf("%s is served with %q", e.Name(), bad)
		}
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
	for _, path := range []string{"/assets/000000000000/css/base.css", "/assets/x", "/assets/", a.Path("css/base.css") +
		"x", "/assets/000000000000/../static.go"} {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != 404 {
			t.Errorf("%s answers %d", path, w.Code)
		}
	}
}

// The content security policy forbids what these would need.
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

// What is vendored is what the lock names, with a licence beside it.
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

func TestScriptsParse(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node to parse scripts with")
	}
	scripts, err := fs.Glob(files, "js/*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range scripts {
		if out, err := exec.Command(node, "--check", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", name, out)
		}
	}
}
