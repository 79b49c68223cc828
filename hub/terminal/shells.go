package terminal

import (
	"os/exec"
	"path/filepath"
	"slices"
)

// shellNames are the shells to search for.
var shellNames = []string{"bash", "zsh", "fish", "pwsh", "sh", "dash", "ksh", "nu"}

// Shells returns the names of this computer's shells, the user's own first. A Spec may name one of them.
func Shells() []string {
	out := []string{filepath.Base(Shell())}
	for _, name := range shellNames {
		if _, err := exec.LookPath(name); err == nil && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// shellFor returns the path of the shell to start.
func shellFor(s Spec) string {
	if s.Shell == "" || s.Shell == filepath.Base(Shell()) {
		return Shell()
	}
	if path, err := exec.LookPath(s.Shell); err == nil && slices.Contains(shellNames, s.Shell) {
		return path
	}
	return Shell()
}
