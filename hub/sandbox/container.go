package sandbox

import (
	"slices"
	"strings"
)

// ContainerInfo says what a session's container was made of, for people.
type ContainerInfo struct {
	Image   string
	File    string   // what the repository says, from its directory on; "": nothing
	Ignored []string // what of it is not done, and why
	Setup   []SetupStep
}

// SetupStep is a command that a repository has run when its container is made.
type SetupStep struct {
	Command string
	State   SetupState
	Output  string // its end
}

// SetupState says how far a command is.
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
