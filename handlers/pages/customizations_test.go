package pages_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/agent/script"
)

// customized returns a session in a directory with a rule, an unreadable skill, and a server.
func customized(t *testing.T) (s *testSite, base, dir string) {
	t.Helper()
	s, dir = open(t), t.TempDir()
	for name, text := range map[string]string{
		"AGENTS.md":                   "# House <rules>\n\nTabs.",
		".claude/skills/one/SKILL.md": "---\ndescription: [\n---\n",
		".mcp.json":                   `{"mcpServers":{"files":{"command":"run-it","args":["a b"],"env":{"KEY":"${SECRET_KEY}"}},"odd":{}}}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s, s.post("/new", url.Values{"dir": {dir}, "agent": {script.Provider}}), dir
}

// idOf returns the id in the form of an entry, by the entry's name.
func idOf(t *testing.T, page, name string) string {
	t.Helper()
	m := regexp.MustCompile(`id="switch-([^"]+)" aria-label="` + regexp.QuoteMeta(name) + `: `).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("%s has no switch:\n%s", name, page)
	}
	return m[1]
}

func TestPageNamesCustomizationsAndSources(t *testing.T) {
	s, base, _ := customized(t)
	page := s.get(base + "/customizations")
	for _, want := range []string{"AGENTS.md", "House &lt;rules&gt;", ".claude/skills", "its head is no YAML", "files",
		"Not trusted yet", "run-it &#39;a b&#39;", "sets KEY", "reads the server's SECRET_KEY",
		"says neither a command nor a url", "doesn't use MCP servers", "may not stop them"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "<rules>") {
		t.Error("what a file says of itself is taken for HTML")
	}
	text := s.get(base + "/customizations/file?id=" + idOf(t, page, "AGENTS.md"))
	if !strings.Contains(text, "# House &lt;rules&gt;") || !strings.Contains(text, "Tabs.") {
		t.Error("the text of a rule is not shown")
	}
	for _, id := range []string{"nobody", "", idOf(t, page, "files")} { // a server's file may contain secrets
		res, err := s.web.Get(s.url + base + "/customizations/file?id=" + id)
		s.body("a file", res, err, http.StatusNotFound)
	}
	if !strings.Contains(s.get(base), base+"/customizations") {
		t.Error("nothing leads to the page")
	}
}

func TestASwitchReachesAsFarAsIsSaid(t *testing.T) {
	s, base, dir := customized(t)
	at := base + "/customizations"
	other := s.post("/new", url.Values{"dir": {dir}, "agent": {script.Provider}}) + "/customizations"
	id := idOf(t, s.get(at), "AGENTS.md")
	for _, step := range []struct{ to, here, there string }{
		{"off:session", "Off in this session", "On"},
		{"off:workspace", "Off in this workspace", "Off in this workspace"},
		{"on:session", "On in this session", "Off in this workspace"},
		{"off:all", "Off everywhere", "Off everywhere"},
		{"forget", "On", "On"},
	} {
		if to := s.post(at, url.Values{"id": {id}, "to": {step.to}}); to != at {
			t.Errorf("%s leads to %s", step.to, to)
		}
		s.until(at, `aria-label="AGENTS.md: `+step.here+`. Change"`)
		s.until(other, `aria-label="AGENTS.md: `+step.there+`. Change"`)
	}
	for _, to := range []string{"", "off", "maybe:session", "off:team"} {
		res, err := s.web.PostForm(s.url+at, url.Values{"id": {id}, "to": {to}})
		s.body(to, res, err, http.StatusBadRequest)
	}
}

func TestAServerIsTrustedAsItWasSeen(t *testing.T) {
	s, base, dir := customized(t)
	at := base + "/customizations"
	page := s.get(at)
	id := idOf(t, page, "files")
	digest := regexp.MustCompile(`name="digest" value="([0-9a-f]+)"`).FindStringSubmatch(page)[1]
	send := func(want int, form url.Values) {
		t.Helper()
		form.Set("id", id)
		res, err := s.web.PostForm(s.url+at+"/server", form)
		s.body(form.Encode(), res, err, want)
	}
	send(http.StatusBadRequest, url.Values{"do": {"dance"}})
	send(http.StatusConflict, url.Values{"do": {"trust"}, "digest": {"0000"}})
	send(http.StatusConflict, url.Values{"do": {"start"}}) // this test's host starts no servers
	send(http.StatusSeeOther, url.Values{"do": {"trust"}, "digest": {digest}})
	if page := s.get(at); strings.Contains(page, "Not trusted yet") || !strings.Contains(page, "Trusted by Ana") {
		t.Error("a server that is trusted does not look so")
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{"files":{"command":"other"}}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	s.until(at, "Not trusted yet")
}

func TestGuestsSeeNothingOfIt(t *testing.T) {
	s, base, _ := customized(t)
	id := idOf(t, s.get(base+"/customizations"), "AGENTS.md")
	uri, _ := s.host.SessionByShort(strings.TrimPrefix(base, "/s/"))
	s.who = access.Principal{ID: "guest:ben", Name: "Ben", Role: access.RoleDriver, Session: uri, Prompt: true,
		Approve: true, Type: true}
	denied := func(what string, res *http.Response, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode < 400 {
			t.Errorf("%s: a guest is answered %s", what, res.Status)
		}
	}
	for _, to := range []string{"", "/file?id=" + id} {
		res, err := s.web.Get(s.url + base + "/customizations" + to)
		denied(to, res, err)
	}
	for to, form := range map[string]url.Values{"": {"id": {id}, "to": {"off:session"}},
		"/server": {"id": {id}, "do": {"trust"}}} {
		res, err := s.web.PostForm(s.url+base+"/customizations"+to, form)
		denied(to, res, err)
	}
	s.who = ana
	s.until(base+"/customizations", `aria-label="AGENTS.md: On. Change"`)
}
