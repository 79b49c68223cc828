package acp

import (
	"os"
	"slices"
	"strings"
)

// usual are the variables of the host that every agent sees. All others, secrets
// of the host among them, are handed on only where a Program says so.
var usual = []string{
	"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM", "TZ", "TMPDIR", "XDG_*",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "SSH_AUTH_SOCK",
}

// environment is what a program sees: the usual variables, those it may see, those
// set for it. Its own directory comes last on PATH, where its interpreter often is.
func environment(all []string, prog Program, dir string) []string {
	var env []string
	for _, kv := range all {
		name, value, _ := strings.Cut(kv, "=")
		if _, set := prog.Env[name]; set || !allowed(name, usual) && !allowed(name, prog.Pass) {
			continue
		}
		if name == "PATH" {
			value += string(os.PathListSeparator) + dir
		}
		env = append(env, name+"="+value)
	}
	for name, value := range prog.Env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// withheld wraps a command so that it does not see the host's variables that its
// program does not see either. Only names are on its command line, never values.
func withheld(all []string, prog Program, set []string, command []string) []string {
	wrap := []string{"env"}
	for _, kv := range all {
		name, _, _ := strings.Cut(kv, "=")
		given := slices.ContainsFunc(set, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		if name != "" && !given && !allowed(name, usual) && !allowed(name, prog.Pass) {
			wrap = append(wrap, "-u", name)
		}
	}
	if len(wrap) == 1 {
		return command
	}
	return append(wrap, command...)
}

func allowed(name string, list []string) bool {
	return slices.ContainsFunc(list, func(a string) bool {
		prefix, many := strings.CutSuffix(a, "*")
		return a == name || many && strings.HasPrefix(name, prefix)
	})
}
