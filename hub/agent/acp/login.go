package acp

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// A program names its login methods. A method that takes a single secret, in a variable or with the
// login request, can be used by a client: it is a protected resource whose token is the secret. All
// others need a login on the host.

const resourceScheme = "ahphub-agent:/"

// token is a client's secret.
type token struct{ variable, value string }

// logins returns the methods that a client can use.
func logins(provider string, methods []authMethod) []ahp.ProtectedResourceMetadata {
	out := []ahp.ProtectedResourceMetadata{}
	for _, m := range methods {
		if m.isHandover() {
			out = append(out, ahp.ProtectedResourceMetadata{Resource: resourceScheme + provider + "/" + m.ID,
				ResourceName:           nameOf(m.Name, m.ID),
				BearerMethodsSupported: []string{}, ResourceDocumentation: m.Link, Required: ahp.Ptr(false)})
		}
	}
	return out
}

// secret returns the one variable that a method needs, "" when it needs others.
func (m authMethod) secret() string {
	var names []string
	for _, v := range m.Vars {
		if !v.Optional {
			names = append(names, v.Name)
		}
	}
	if m.Type != "env_var" || m.ID == "" || len(names) != 1 || strings.ContainsAny(names[0], "=\x00") {
		return ""
	}
	return names[0]
}

// isHandover reports whether a client can provide everything that the method needs.
func (m authMethod) isHandover() bool {
	return m.ID != "" && (m.secret() != "" || isObject(m.Meta.APIKey))
}

// Authenticate keeps a token in memory. Sessions use it at the next start of their program.
func (b Backend) Authenticate(_ context.Context, resource, secret string) (bool, error) {
	id, ours := strings.CutPrefix(resource, resourceScheme+b.Program.Name+"/")
	methods := b.Memory.get().Auth
	i := slices.IndexFunc(methods, func(m authMethod) bool { return m.ID == id && m.isHandover() })
	if !ours || b.Memory == nil || i < 0 {
		return false, nil
	}
	if strings.ContainsRune(secret, 0) || len(secret) > 64<<10 {
		return true, errors.New("this is not a valid token")
	}
	b.Memory.give(methods[i], secret)
	return true, nil
}

func (m *Memory) give(way authMethod, secret string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.given++
	delete(m.tokens, way.ID)
	if secret != "" {
		m.tokens[way.ID] = token{way.secret(), secret}
	}
}

// apply adds the tokens to a program's environment and returns it with the count of changes, which newer
// compares.
func (m *Memory) apply(prog Program) (Program, int) {
	if m == nil {
		return prog, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.tokens) == 0 {
		return prog, m.given
	}
	env := map[string]string{}
	maps.Copy(env, prog.Env)
	for _, id := range slices.Sorted(maps.Keys(m.tokens)) {
		t := m.tokens[id]
		if t.variable != "" {
			env[t.variable] = t.value
		} else {
			prog.key = t.value
		}
		prog.Auth = id // a given token takes precedence over the configured method
	}
	prog.Env = env
	return prog, m.given
}

func (m *Memory) newer(given int) bool {
	if m == nil {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.given != given
}

// logIn uses the method that is configured or has a token; false when there is none, or it failed.
func (p *peer) logIn(ctx context.Context, err error) bool {
	refused, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || refused.Code != codeLogin || p.prog.Auth == "" {
		return false
	}
	q := authParams{MethodID: p.prog.Auth}
	if p.prog.key != "" {
		q.Meta = &handover{p.prog.key}
	}
	if err := p.call(ctx, "authenticate", q, nil); err != nil {
		p.log.Warn("cannot log in to an agent", "method", p.prog.Auth, "err", err)
		return false
	}
	return true
}

// refused notifies clients that the program needs a secret that they can provide. It ignores other
// errors.
func (s *session) refused(p *peer, err error) {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Code != codeLogin {
		return
	}
	s.memory.learnLogin(false)
	reason := ahp.AuthRequiredReasonRequired
	if p.given > 0 {
		reason = ahp.AuthRequiredReasonExpired
	}
	s.spec.Host.Learn(agent.Offer{Logins: logins(s.prog.Name, p.about.AuthMethods), LoginNeeded: reason})
}

// way describes the login for people.
func (m authMethod) way(prog Program) string {
	text := nameOf(m.Name, m.ID)
	if m.Description != "" {
		text += ": " + strings.TrimRight(m.Description, ". ")
	}
	switch {
	case m.Type == "terminal":
		text += ", by running " + strings.Join(append([]string{prog.Command}, m.Args...), " ") + " on the server"
	case m.Type == "env_var" && len(m.Vars) > 0:
		var names []string
		for _, v := range m.Vars {
			names = append(names, v.Name)
		}
		text += ", by setting " + strings.Join(names, ", ") + " for ahphub"
	}
	return text
}
