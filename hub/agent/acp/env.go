package acp

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
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

// addPassed returns a command's variables, after those that its program sees and terminals do not:
// the command sees these too.
func addPassed(all []string, prog Program, set []string) []string {
	passed := slices.DeleteFunc(environ.Filter(all, prog.Pass), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return environ.Allows(name, nil)
	})
	return append(passed, set...)
}

// addSecrets adds the secrets of a session to its program's environment.
func addSecrets(ctx context.Context, prog Program, spec agent.Spec) (Program, error) {
	if spec.Secrets == nil {
		return prog, nil
	}
	list, err := spec.Secrets(ctx)
	if err != nil {
		return prog, err
	}
	env := maps.Clone(prog.Env)
	if env == nil {
		env = map[string]string{}
	}
	for _, kv := range list {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	prog.Env, prog.hide = env, spec.Hide
	return prog, nil
}
