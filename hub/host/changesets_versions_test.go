package host

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/version"
)

func TestReadVersionsOfChangesByTheirName(t *testing.T) {
	c := newChanging(t)
	turn := c.turn(func() { c.write("a.txt", "one\n2\n"); c.write("sp ace.txt", "new\n") })
	uri := c.follow("turn", turn)
	c.shows(uri, "M a.txt +1 −1; A sp%20ace.txt +1 −0")
	files := c.changes(uri).Files
	for _, side := range []*ahp.FileEditSide{files[0].Edit.Before, files[0].Edit.After, files[1].Edit.After} {
		path, _ := core.FilePath(side.URI)
		if v, ok := version.Parse(side.Content.URI); !ok || v.Path != path ||
			!strings.Contains(string(side.Content.URI), "/"+strings.ReplaceAll(filepath.Base(path), " ", "%20")+"?") {
			t.Errorf("a version of %s is called %s", path, side.Content.URI)
		}
	}
	if got := c.blob(files[1].Edit.After.Content); got != "new\n" {
		t.Errorf("it holds %q", got)
	}
	if got := c.blob(ahp.ContentRef{URI: strings.Replace(files[0].Edit.Before.Content.URI, "a.txt", "%61.txt",
		1)}); got != "one\ntwo\n" {
		t.Errorf("escaped by another hand it holds %q", got)
	}
}
