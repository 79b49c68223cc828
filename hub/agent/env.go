package agent

import (
	"slices"
	"strings"
)

// usual are the variables of the host that every program it starts for a session sees. All others, secrets of the host
// among them, are handed on only where somebody says so.
var usual = []string{
	"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "TZ", "TMPDIR", "XDG_*",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "SSH_AUTH_SOCK",
}

// Sees tells whether a program sees a variable of the host: a usual one, or one of those it may see. A star at the end
// of a name stands for any.
func Sees(name string, pass []string) bool { return named(name, usual) || named(name, pass) }

func named(name string, list []string) bool {
	return slices.ContainsFunc(list, func(a string) bool {
		prefix, many := strings.CutSuffix(a, "*")
		return a == name || many && strings.HasPrefix(name, prefix)
	})
}
