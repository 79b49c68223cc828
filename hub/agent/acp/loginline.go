package acp

import (
	"os/exec"
	"strings"
)

// LoginCommand returns the shell command that logs in; "" if none is known. It names the program by
// its path if PATH does not have it.
func (p Program) LoginCommand() string {
	word, rest, _ := strings.Cut(p.LoginLine, " ")
	if word == "" {
		return ""
	}
	if _, err := exec.LookPath(word); err != nil {
		if path, ok := lookUp(word); ok && !strings.ContainsAny(path, " '\"\\$`;&|<>()*?[]#~!\t\n") {
			word = path
		}
	}
	return strings.TrimSpace(word + " " + rest)
}
