package host

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// Editors name a version, and choose its language, by the end of its URI.
func TestVersionsEndWithTheirPath(t *testing.T) {
	oid := strings.Repeat("0f", 20)
	for name, want := range map[string]ahp.URI{
		"/w/main.go":            "ahp-blob:/w/main.go?session=s&version=" + oid,
		"/w/a b/100%/é?x=#1.go": "ahp-blob:/w/a%20b/100%25/%C3%A9%3Fx=%231.go?session=s&version=" + oid,
	} {
		uri := blobURI("s", oid, name, "")
		if b, ok := readBlob(uri); uri != want || !ok || b != (blob{"s", oid, name, ""}) {
			t.Errorf("%s is %s, want %s, and read as %+v", name, uri, want, b)
		}
	}
	for uri, want := range map[ahp.URI]blob{
		"ahp-blob:/w/sub?kind=commit&session=s&version=" + oid:              {"s", oid, "/w/sub", "commit"},
		"ahp-blob:/w/a%3Db.go?kind%3Dkept%26session%3Ds%26version%3D" + oid: {"s", oid, "/w/a=b.go", "kept"}, // as VS Code escapes it
		"ahp-blob:/s/" + oid + "?path=%2Fw%2Fa.go&kind=kept":                {"s", oid, "/w/a.go", "kept"},   // as it was stored before
		"ahp-blob:/s/" + oid:        {"s", oid, "", ""},
		"ahp-blob:/s/../etc/passwd": {"s", "../etc/passwd", "", ""},
		"ahp-blob:/":                {},
	} {
		if b, ok := readBlob(uri); !ok || b != want {
			t.Errorf("%s is read as %+v (%t), want %+v", uri, b, ok, want)
		}
	}
	for _, uri := range []ahp.URI{"", "file:///etc/passwd", "ahp-blob:", "ahp-blob:/%", "ahp-blob://s/" + oid} {
		if b, ok := readBlob(uri); ok {
			t.Errorf("%q is read as %+v", uri, b)
		}
	}
}

func TestVersionsOfChangesAreReadByTheirName(t *testing.T) {
	c := newChanging(t)
	turn := c.turn(func() { c.write("a.txt", "one\n2\n"); c.write("sp ace.txt", "new\n") })
	uri := c.follow("turn", turn)
	c.shows(uri, "M a.txt +1 −1; A sp%20ace.txt +1 −0")
	files := c.changes(uri).Files
	for _, side := range []*ahp.FileEditSide{files[0].Edit.Before, files[0].Edit.After, files[1].Edit.After} {
		path, _ := core.FilePath(side.URI)
		if b, ok := readBlob(side.Content.URI); !ok || b.path != path || !strings.Contains(string(side.Content.URI), "/"+strings.ReplaceAll(filepath.Base(path), " ", "%20")+"?") {
			t.Errorf("a version of %s is called %s", path, side.Content.URI)
		}
	}
	if got := c.blob(files[1].Edit.After.Content); got != "new\n" {
		t.Errorf("it holds %q", got)
	}
	if got := c.blob(ahp.ContentRef{URI: strings.Replace(files[0].Edit.Before.Content.URI, "a.txt", "%61.txt", 1)}); got != "one\ntwo\n" {
		t.Errorf("escaped by another hand it holds %q", got)
	}
}
