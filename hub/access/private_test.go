package access

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestPrivateNames(t *testing.T) {
	for name, private := range map[string]bool{
		"/r/.env": true, "/r/.env.local": true, "/r/.envrc": true, "/r/.ENV": true, "/r/a/.git/config": true,
		"/r/.git":             true,
		"/h/.ssh/known_hosts": true, "/h/.aws/config": true, "/h/.kube/config": true, "/r/id_ed25519": true,
		"/r/ID_RSA": true, "/r/server.pem": true, "/r/tls.key": true, "/h/.netrc": true, "/h/.npmrc": true,
		"/h/.pypirc": true, "/h/.bash_history": true, "/h/.config/gh/hosts.yml": true, "/h/.codex/auth.json": true,
		"/h/.local/share/opencode/auth.json": true, "/h/.gnupg": true, "/r/README.md": false,
		"/r/environment.go": false, "/r/id_rsa.pub": false, "/r/git/config": false, "/r/auth.json": false,
		"/r/.gitignore": false, "/r/.github/workflows/ci.yml": false, "/r/keys.go": false, "/r/monkey": false,
		"/r/.config/app": false,
	} {
		if got := IsPrivateName(name); got != private {
			t.Errorf("%s is private: %v, want %v", name, got, private)
		}
	}
}

// The documentation lists all private names.
func TestPrivateNamesAreDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	dirs := slices.Clone(privateDirs)
	for i := range dirs {
		dirs[i] += "/"
	}
	for _, name := range slices.Concat(dirs, privateNames, privateEnds, privateBelow, privateStarts) {
		if !strings.Contains(string(docs), name) {
			t.Errorf("docs/security.md does not say that %s is shown to no guest", name)
		}
	}
}
