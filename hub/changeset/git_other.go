//go:build !unix

package changeset

import "os/exec"

// ownGroup does nothing where there are no process groups: the program itself is ended.
func ownGroup(*exec.Cmd) {}

// yield does nothing where programs have no nice value.
func yield(int) {}
