package acp

import (
	"os"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/environ"
)

// environment returns a program's environment: the usual variables, those it may see, and those set
// for it. Its own directory comes last on PATH, because its interpreter is often there.
func environment(all []string, prog Program, dir string) []string {
	var env []string
	for _, kv := range environ.Filter(all, prog.Pass) {
		name, value, _ := strings.Cut(kv, "=")
		if _, set := prog.Env[name]; set {
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

// addPassed returns a command's variables, after those that its program sees and terminals do not,
// which the command sees too.
func addPassed(all []string, prog Program, set []string) []string {
	passed := slices.DeleteFunc(environ.Filter(all, prog.Pass), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return environ.Allows(name, nil)
	})
	return append(passed, set...)
}
