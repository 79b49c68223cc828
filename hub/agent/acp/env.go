package acp

import (
	"os"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
)

// environment is what a program sees: the usual variables, those it may see, those
// set for it. Its own directory comes last on PATH, where its interpreter often is.
func environment(all []string, prog Program, dir string) []string {
	var env []string
	for _, kv := range all {
		name, value, _ := strings.Cut(kv, "=")
		if _, set := prog.Env[name]; set || !agent.Sees(name, prog.Pass) {
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
		if name != "" && !given && !agent.Sees(name, prog.Pass) {
			wrap = append(wrap, "-u", name)
		}
	}
	if len(wrap) == 1 {
		return command
	}
	return append(wrap, command...)
}
