package version

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Editors derive the name and the language of a version from the end of its URI.
func TestURIEndsWithPath(t *testing.T) {
	oid := strings.Repeat("0f", 20)
	for name, want := range map[string]ahp.URI{
		"/w/main.go":            "ahp-blob:/w/main.go?session=s&version=" + oid,
		"/w/a b/100%/é?x=#1.go": "ahp-blob:/w/a%20b/100%25/%C3%A9%3Fx=%231.go?session=s&version=" + oid,
	} {
		uri := Ref{Session: "s", OID: oid, Path: name}.URI()
		if r, ok := Parse(uri); uri != want || !ok || r != (Ref{"s", oid, name, ""}) {
			t.Errorf("%s is %s, want %s, and read as %+v", name, uri, want, r)
		}
	}
	for uri, want := range map[ahp.URI]Ref{
		"ahp-blob:/w/sub?kind=commit&session=s&version=" + oid: {"s", oid, "/w/sub", "commit"},
		// as escaped by VS Code
		"ahp-blob:/w/a%3Db.go?kind%3Dkept%26session%3Ds%26version%3D" + oid: {"s", oid, "/w/a=b.go", "kept"},
		// as stored by earlier versions
		"ahp-blob:/s/" + oid + "?path=%2Fw%2Fa.go&kind=kept": {"s", oid, "/w/a.go", "kept"},
		"ahp-blob:/s/" + oid:        {"s", oid, "", ""},
		"ahp-blob:/s/../etc/passwd": {"s", "../etc/passwd", "", ""},
		"ahp-blob:/":                {},
	} {
		if r, ok := Parse(uri); !ok || r != want {
			t.Errorf("%s is read as %+v (%t), want %+v", uri, r, ok, want)
		}
	}
	for _, uri := range []ahp.URI{"", "file:///etc/passwd", "ahp-blob:", "ahp-blob:/%", "ahp-blob://s/" + oid} {
		if r, ok := Parse(uri); ok {
			t.Errorf("%q is read as %+v", uri, r)
		}
	}
}
