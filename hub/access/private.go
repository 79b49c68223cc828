package access

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The names of files never shown to guests, in lower case. docs/security.md lists them.
var (
	privateDirs = []string{".git", ".hg", ".svn", ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker",
		".password-store"}
	privateNames = []string{"id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", ".netrc",
		"_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".dockercfg",
		".vault-token",
		".credentials.json", "oauth_creds.json", "application_default_credentials.json"}
	privateEnds = []string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx", ".tfstate",
		"_history"}
	privateBelow = []string{".config/gcloud", ".config/gh", ".config/hub", ".config/ahphub", ".cargo/credentials",
		".cargo/credentials.toml", ".gem/credentials", ".codex/auth.json", "opencode/auth.json",
		".terraform.d/credentials.tfrc.json"}
	privateStarts = []string{".env"}
)

// IsPrivateName reports whether guests are never shown a path: keys, passwords, tokens,
// environments, and git's own files.
func IsPrivateName(name string) bool {
	name = strings.ToLower(filepath.ToSlash(name))
	parts := strings.Split(name, "/")
	if slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(privateDirs, p) }) {
		return true
	}
	for _, p := range privateBelow {
		if strings.Contains("/"+name+"/", "/"+p+"/") {
			return true
		}
	}
	base := path.Base(name)
	return slices.Contains(privateNames, base) ||
		slices.ContainsFunc(privateEnds, func(end string) bool { return strings.HasSuffix(base, end) }) ||
		slices.ContainsFunc(privateStarts, func(start string) bool { return strings.HasPrefix(base, start) })
}
