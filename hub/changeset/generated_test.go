package changeset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// .gitattributes files at the top and below mark generated files; others stay unmarked.
func TestGitAttributesMarkGeneratedFiles(t *testing.T) {
	p := newRepo(t)
	generated := func() map[string]machine.Generated {
		t.Helper()
		before := p.checkpoint()
		for _, name := range []string{"a.txt", "api/client.go", "api/hand.go", "api/deep/x.go", "ünï code.go"} {
			had, _ := os.ReadFile(p.path(name))
			p.write(name, string(had)+"more\n")
		}
		said := map[string]machine.Generated{}
		for _, f := range p.compare(before, p.checkpoint()) {
			if f.Generated != "" {
				said[f.Path] = f.Generated
			}
		}
		return said
	}
	if got := generated(); len(got) != 0 {
		t.Errorf("without attributes: %v", got)
	}
	p.write("api/.gitattributes",
		"*.go linguist-generated\nhand.go -linguist-generated\ndeep/*.go linguist-generated=maybe\n")
	p.write(".gitattributes", "*code.go linguist-generated=true\n")
	got := generated()
	for name, want := range map[string]machine.Generated{"a.txt": "", "api/client.go": machine.GeneratedYes,
		"api/hand.go": machine.GeneratedNo, "api/deep/x.go": "", "ünï code.go": machine.GeneratedYes} {
		if got[name] != want {
			t.Errorf("%s is called %q, want %q", name, got[name], want)
		}
	}
	before := p.checkpoint()
	p.write("api/client.go", "and more\n")
	after := p.checkpoint()
	p.write(".git/info/attributes", "a.txt linguist-generated\n")
	p.checkpoint()
	if err := os.Rename(p.dir, p.dir+" away"); err != nil {
		t.Fatal(err)
	}
	if files := p.compare(before, after); len(files) != 1 {
		t.Errorf("with the directory gone: %v", summary(files))
	}
	if err := os.Rename(p.dir+" away", p.dir); err != nil {
		t.Fatal(err)
	}
	p.remove(".git/info/attributes")
	p.remove(".gitattributes")
	p.remove("api/.gitattributes")
	if err := os.Symlink(filepath.Join(t.TempDir(), "nowhere"), p.path(".gitattributes")); err != nil {
		t.Fatal(err)
	}
	if got := generated(); len(got) != 0 {
		t.Errorf("with a link for attributes: %v", got)
	}
}
