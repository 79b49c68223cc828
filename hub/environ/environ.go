// Package environ decides which variables of ahphub's environment the programs that it starts see: terminals,
// agents, MCP servers, Git and its hooks. The list names what is allowed, so a secret that ahphub was started with
// reaches none of them.
package environ

import (
	"os"
	"slices"
	"strings"
)

// ownPrefix is the prefix of ahphub's settings, which include secrets. No list can pass these on.
const ownPrefix = "AHPHUB_"

// usual are the variables that every program sees. A star at the end of a name stands for any characters. No name that
// usually holds a secret belongs here: owners add those to [agents] env, or to one agent's pass.
var usual = []string{
	// the person and the system
	"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "LOCPATH", "LOCALE_ARCHIVE", "TZ", "TMPDIR",
	"XDG_*",
	"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "LD_LIBRARY_PATH", "NIX_PATH",
	"NIX_PROFILES", "HOMEBREW_*", "WSL_*",
	// the network
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GNUPGHOME",
	// terminals and shells
	"TERM", "COLORTERM", "TERMINFO", "TERMINFO_DIRS", "LS_COLORS", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESS",
	"INPUTRC", "ZDOTDIR",
	"HIST*",
	// where tool chains keep what they installed
	"GOPATH", "GOROOT", "GOBIN", "GOCACHE", "GOMODCACHE", "GOTOOLCHAIN", "CGO_ENABLED", "CC", "CXX",
	"CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "JAVA_HOME", "MAVEN_HOME", "GRADLE_USER_HOME", "ANDROID_HOME",
	"DOTNET_ROOT", "NPM_CONFIG_PREFIX", "NVM_DIR", "FNM_DIR", "NODE_PATH", "PNPM_HOME", "BUN_INSTALL", "VOLTA_HOME",
	"DENO_DIR", "VIRTUAL_ENV", "PYENV_ROOT", "PYTHONPATH", "CONDA_PREFIX", "RBENV_ROOT", "GEM_HOME", "GEM_PATH",
	"ASDF_DIR", "ASDF_DATA_DIR",
}

// Allows reports whether a program sees the variable name: a usual one, or one that extra lists, where a star at
// the end of a name stands for any characters.
func Allows(name string, extra []string) bool {
	return !strings.HasPrefix(name, ownPrefix) && (isListed(name, usual) || isListed(name, extra))
}

// Inherit returns the variables of this process that a program sees, each as name=value.
func Inherit(extra []string) []string { return Filter(os.Environ(), extra) }

// Filter returns the variables of an environment that a program sees.
func Filter(environment, extra []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !Allows(name, extra)
	})
}

// isListed reports whether a list has the name, or a prefix of it with a star.
func isListed(name string, list []string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		prefix, many := strings.CutSuffix(entry, "*")
		return name == entry || many && strings.HasPrefix(name, prefix)
	})
}
