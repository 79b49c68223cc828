package terminals

import (
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
)

// ownersSecrets is the error for guests who try to type in a terminal that has secrets.
const ownersSecrets = "this terminal has secrets of the owner, so only the owner can type in it. Open a separate terminal"

// addSecrets adds a session's secrets to a program's spec if given is true. Otherwise, if the
// session has secrets, the program gets a separate sandbox, where it cannot see the environment of
// programs that have them.
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

// GuestsBox ends the name of the guests' sandbox in sessions with secrets.
const GuestsBox = ".guests"

// isSecretTo reports whether a terminal has secrets that the caller must not access by typing.
func (p *Part) isSecretTo(r *core.Request) bool {
	t := p.get(r.Info.URI)
	return t != nil && t.secret && !r.Caller.IsOwner()
}
