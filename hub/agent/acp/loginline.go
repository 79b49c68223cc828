package acp

import (
	"os/exec"
	"strings"
)

// LoginCommand returns the command of a shell that logs in; "" when none is known. Its program is named by its path when
// the PATH of a shell does not have it.
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
