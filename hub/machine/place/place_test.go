package place

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

func TestPathsLeadToOneMachine(t *testing.T) {
	for p, want := range map[string][2]string{
		"/":                          {"", "/"},
		"/home/me":                   {"", "/home/me"},
		"/home/../etc":               {"", "/etc"},
		"/machinesx/a":               {"", "/machinesx/a"},
		"/home/machines/box":         {"", "/home/machines/box"},
		"/machines/box":              {"box", "/"},
		"/machines/box/":             {"box", "/"},
		"//machines//box//home//me/": {"box", "/home/me"},
		"/machines/./box/./a":        {"box", "/a"},
		"/machines/box/machines/b/c": {"box", "/machines/b/c"},
		"/machines/box/..a/b..":      {"box", "/..a/b.."},
	} {
		id, there, err := SplitPath(p)
		if err != nil || id != want[0] || there != want[1] {
			t.Errorf("%q leads to %q on %q, %v", p, there, id, err)
		}
	}
	for _, p := range []string{"", "home", "machines/box/a", "/machines", "/machines/", "//machines//", "/machines/.",
		"/machines/..", "/machines/../etc", "/machines/box/..", "/machines/box/../../etc", "/machines/box/../other/a",
		"/home/../machines/box/a", "/machines/Box/a", "/machines/b x/a", "/machines/-/a", "/machines/box\x00/a",
		"/machines/" + strings.Repeat("a", 65) + "/a"} {
		if id, there, err := SplitPath(p); err == nil {
			t.Errorf("%q leads to %q on %q", p, there, id)
		}
	}
	if p, err := JoinPath("", "/machines/box/a"); err == nil {
		t.Errorf("a directory of the hub's own computer is spelled %q as another one's", p)
	}
}

func TestURIsLeadToOneMachine(t *testing.T) {
	for uri, want := range map[string][2]string{
		"file:///home/a%20b":                {"", "file:///home/a%20b"},
		"file:///machines/box/a%20b":        {"box", "file:///a%20b"},
		"file:///m%61chines/box/a":          {"box", "file:///a"},
		"file://localhost/machines/box/a":   {"box", "file:///a"},
		"file://other/machines/box/a":       {"", "file://other/machines/box/a"}, // refused there
		"file:///machines%2fbox/a":          {"", "file:///machines%2fbox/a"},
		"ahp-session:/machines/box/a":       {"", "ahp-session:/machines/box/a"},
		"file:///machines/box/100%25%23%3F": {"box", "file:///100%25%23%3F"},
	} {
		id, there, err := SplitURI(uri)
		if err != nil || id != want[0] || there != want[1] {
			t.Errorf("%q leads to %q on %q, %v", uri, there, id, err)
		}
	}
	for _, uri := range []string{"file:///machines", "file:///machines/box/%2e%2e/%2e%2e/etc", "file:///machines/B/a"} {
		if id, there, err := SplitURI(uri); err == nil {
			t.Errorf("%q leads to %q on %q", uri, there, id)
		}
	}
}

func TestProvidersNameTheirMachine(t *testing.T) {
	for provider, want := range map[string][2]string{
		"opencode":     {"", "opencode"},
		"opencode+box": {"box", "opencode"},
		"a+b+box":      {"box", "a+b"},
		"+box":         {"", "+box"},
		"opencode+":    {"", "opencode+"},
		"opencode+B x": {"", "opencode+B x"},
	} {
		id, there := SplitProvider(provider)
		if id != want[0] || there != want[1] || JoinProvider(id, there) != provider {
			t.Errorf("%q is %q of %q", provider, there, id)
		}
	}
}

// FuzzPathsOfMachines checks that a path leads to one machine in any spelling, and back.
func FuzzPathsOfMachines(f *testing.F) {
	for _, p := range []string{"", "/", "/machines", "/machines/", "/machines/box", "/machines/box/../other/a",
		"//machines/box//a", "/a/../machines/box", "/machines/box/machines/box/a", "/machines/..", "/machines/B"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		id, there, err := SplitPath(p)
		if err != nil {
			return
		}
		if there != path.Clean(there) || !path.IsAbs(there) {
			t.Fatalf("%q leads to %q, which is not clean", p, there)
		}
		joined, err := JoinPath(id, there)
		if err != nil || joined != path.Clean(p) {
			t.Fatalf("%q leads to %q on %q, which is spelled %q: %v", p, there, id, joined, err)
		}
		if strings.Contains(there, `\`) {
			return // no URI may have one
		}
		uriThere := (&url.URL{Scheme: "file", Path: there}).String()
		uri, err := JoinURI(id, uriThere)
		if err != nil {
			t.Fatal(err)
		}
		again, back, err := SplitURI(uri)
		if err != nil || again != id || back != uriThere {
			t.Fatalf("%q is %q, which leads to %q on %q: %v", p, uri, back, again, err)
		}
	})
}
