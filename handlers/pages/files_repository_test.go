package pages_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A repository with a path that leads elsewhere causes a request in the inbox, with the place and
// the path. The page of the changes shows it until it is answered.
func TestInboxAsksWhereRepositoryMayLead(t *testing.T) {
	x := openTree(t)
	other := filepath.Join(t.TempDir(), "<b>elsewhere")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "secret.txt"), []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.git("config", "core.worktree", other)
	changes := x.base + "/changes?scope=uncommitted"
	page := x.until(changes, "leads to a place outside of this session")
	if strings.Contains(page, "secret.txt") {
		t.Error("the changes show what lies there")
	}
	inbox := x.until("/", "links to a directory")
	for _, want := range []string{"A repository", "outside its session", "&lt;b&gt;elsewhere", "/.git/config",
		"Allow until restart"} {
		if !strings.Contains(inbox, want) {
			t.Errorf("the inbox does not say %q", want)
		}
	}
	x.post("/files/"+x.host.Files.FileAsks()[0].ID, url.Values{"do": {"allow"}})
	x.until(changes, "secret.txt")
	grant := x.host.Files.FileGrants()[0]
	if !strings.HasPrefix(grant.Name, "Git, through ") || grant.Path != other {
		t.Errorf("what was allowed is listed as %+v", grant)
	}
	x.post("/people/files/"+grant.ID+"/revoke", nil)
	x.until(changes, "leads to a place outside of this session")
}
