package terminals

import (
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// ownersSecrets refuses guests who would type in a terminal that has secrets.
const ownersSecrets = "this terminal has secrets of the owner, so only the owner can type in it. Open a separate terminal"

// addSecrets adds a session's secrets to what is to be started, if it is given them. A program that is not, though its
// session has some, gets a sandbox of its own, where it does not see the environment of those that have them.
func (p *Part) addSecrets(session ahp.URI, spec *machine.TerminalSpec, given bool) (added bool, err error) {
	if p.cfg.Secrets == nil || session == "" {
		return false, nil
	}
	env, hide, err := p.cfg.Secrets(p.core.Ctx, session, given)
	if err != nil {
		return false, core.BadParams("%s", err)
	}
	spec.Env, spec.Hide = slices.Concat(env, spec.Env), hide
	if !given && hide != nil && spec.Sandbox != nil {
		own := *spec.Sandbox
		own.Session += GuestsBox
		spec.Sandbox = &own
	}
	spec.Title = hide.String(spec.Title)
	return len(env) > 0, nil
}

// GuestsBox ends the name of the sandbox that guests' terminals have in sessions with secrets.
const GuestsBox = ".guests"

// isSecretTo reports whether a terminal has secrets that its caller must not reach by typing.
func (p *Part) isSecretTo(r *core.Request) bool {
	t := p.get(r.Info.URI)
	return t != nil && t.secret && !r.Caller.IsOwner()
}
