package sandbox

import (
	"slices"
	"strings"
)

// ContainerInfo describes a session's container for people.
type ContainerInfo struct {
	Image   string
	File    string   // the repository's devcontainer.json, relative to its directory; "": none
	Ignored []string // parts of the file that are not honoured, and why
	Setup   []SetupStep
}

// SetupStep is a command that a repository runs when its container is created.
type SetupStep struct {
	Command string
	State   SetupState
	Output  string // the end of it
}

// SetupState is the state of a setup command.
type SetupState string

// The states.
const (
	SetupWaits  SetupState = "waits"
	SetupRuns   SetupState = "runs"
	SetupDone   SetupState = "done"
	SetupFailed SetupState = "failed"
)

// AllowsImage reports whether a repository may choose an image.
func (p *Policy) AllowsImage(image string) bool {
	return imageName.MatchString(image) && (image == p.Image || slices.ContainsFunc(p.Images, func(allowed string) bool {
		start, open := strings.CutSuffix(allowed, "*")
		return image == allowed || open && strings.HasPrefix(image, start)
	}))
}
