package host

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// SandboxKey is the session setting for what its programs are kept from. It is the owner's, and fixed when the session
// is created.
const SandboxKey = "sandbox"

// SandboxNetworkKey is the session setting for the network of its sandbox. It is the owner's and fixed as well.
const SandboxNetworkKey = "sandboxNetwork"

// addSandboxSetting adds the setting of sandboxes to an agent's own, where there are any.
func (h *Host) addSandboxSetting(schema ahp.SessionConfigSchema) ahp.SessionConfigSchema {
	if h.cfg.Sandbox == nil || !h.cfg.Sandbox.Works() {
		return schema
	}
	schema.Type = "object"
	schema.Properties = maps.Clone(schema.Properties)
	if schema.Properties == nil {
		schema.Properties = map[string]ahp.SessionConfigPropertySchema{}
	}
	usual, _ := h.cfg.Sandbox.Resolve("")
	boxed, means := h.cfg.Sandbox.Boxed, "Programs see this session's directories, not your other files, sessions or local ports"
	if boxed == sandbox.Landlock {
		means = "Programs open this session's directories, not your other files or sessions. They see your other programs"
	}
	raw := func(v any) json.RawMessage { b, _ := json.Marshal(v); return b } // strings always encode
	schema.Properties[SandboxKey] = ahp.SessionConfigPropertySchema{
		Type: "string", Title: "Sandbox", Description: "Limits what programs of this session can reach",
		Default: raw(usual), Enum: []json.RawMessage{raw(sandbox.None), raw(boxed)},
		EnumLabels:       []string{"No sandbox", "Sandboxed"},
		EnumDescriptions: []string{"Programs can do everything that ahphub's user can", means},
	}
	networks := ahp.SessionConfigPropertySchema{
		Type: "string", Title: "Sandbox network", Description: "Limits what programs in the sandbox reach on the network",
		Default:    raw(h.cfg.Sandbox.Network),
		Enum:       []json.RawMessage{raw(sandbox.Open), raw(sandbox.Closed), raw(sandbox.List)},
		EnumLabels: []string{"Open network", "No network", "Model and packages only"},
		EnumDescriptions: []string{"Everything that this server reaches, except its own ports", "No network",
			"The agent's model, package registries and hosts that the owner allowed. What was refused is listed"},
	}
	if boxed == sandbox.Landlock { // it knows no list, and no loopback of its own
		networks.Enum, networks.EnumLabels = networks.Enum[:2], networks.EnumLabels[:2]
		networks.EnumDescriptions = []string{"Everything that this server reaches", "No TCP. The kernel may leave UDP open"}
	}
	schema.Properties[SandboxNetworkKey] = networks
	return schema
}

// policyOf returns what the programs of a session are kept from; nil when that is nothing.
func (h *Host) policyOf(ctx context.Context, session ahp.URI) (*sandbox.Policy, error) {
	if session == "" || h.cfg.Sandbox == nil {
		return nil, nil
	}
	if err := h.core.Ensure(ctx, session); err != nil {
		return nil, core.NoSession(session)
	}
	s, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, session)
	if !ok {
		return nil, core.NoSession(session)
	}
	return h.policyFor(session, s)
}

// policyFor is policyOf for a session in a state.
func (h *Host) policyFor(session ahp.URI, s *ahp.SessionState) (*sandbox.Policy, error) {
	rules := h.cfg.Sandbox
	mode, err := rules.Resolve(core.ConfigValue(s, SandboxKey))
	if err != nil || mode == sandbox.None {
		return nil, err
	}
	p := &sandbox.Policy{Session: core.ShortID(session), Mode: mode, Write: core.LocalPaths(s.WorkingDirectories),
		Read: rules.Read, Own: core.OwnWorktrees(session)}
	if w, ok := worktrees.Of(s); ok {
		p.Write = append(slices.Clone(p.Write), w.Dir)
		p.Git = []string{filepath.Join(w.Repo, ".git")}
	}
	if keeper, ok := h.cfg.Agents[s.Provider].(agent.HomeKeeper); ok {
		p.Home, p.HomeRead = keeper.HomePaths()
	}
	var hosts []string
	if online, ok := h.cfg.Agents[s.Provider].(agent.Online); ok {
		hosts = online.Hosts()
	}
	return p, rules.Connect(p, core.ConfigValue(s, SandboxNetworkKey), hosts)
}

// Contacts returns what programs in a session's sandbox reached on a network with a list of hosts, and what they were
// refused. has is false when the session has no such network.
func (h *Host) Contacts(session ahp.URI, s *ahp.SessionState) (list []sandbox.Contact, has bool) {
	if h.cfg.Sandbox == nil || h.cfg.Contacts == nil {
		return nil, false
	}
	p, err := h.policyFor(session, s)
	if err != nil || p == nil || p.Network != sandbox.List {
		return nil, false
	}
	return h.cfg.Contacts(p.Session), true
}

// isolate gives a session the worktree that its settings ask for, and refuses directories that its sandbox cannot show.
// undo takes the worktree away again.
func (h *Host) isolate(ctx context.Context, session ahp.URI, s *ahp.SessionState, step func(string)) (undo func(),
	err error) {
	undo, err = h.Worktrees.Isolate(ctx, session, s, step)
	if err != nil || h.cfg.Sandbox == nil {
		return undo, err
	}
	policy, err := h.policyFor(session, s)
	if err == nil && policy != nil {
		err = h.cfg.Machine.CheckSandbox(policy)
	}
	if err != nil {
		undo()
		return func() {}, core.BadParams("workingDirectories: %s", err)
	}
	return undo, nil
}

// sandboxNote is what a readiness says of the sandbox that its call runs in, under the host's own key of `_meta`.
type sandboxNote struct {
	Mode    sandbox.Mode    `json:"mode"`
	Network sandbox.Network `json:"network,omitempty"`
	Needs   []string        `json:"needs,omitempty"`  // what a command seems to need that the sandbox has not
	Inside  bool            `json:"inside,omitempty"` // the agent runs the call by itself: it cannot be run outside
}

// describeSandbox says in a readiness what the session's sandbox allows and what the call seems to need besides, and
// offers to run it outside where the host can.
func (h *Host) describeSandbox(uri ahp.URI, s *ahp.SessionState, kind string, m ahp.Message,
	a *ahp.ChatToolCallReadyAction) {
	if h.cfg.Sandbox == nil {
		return
	}
	note := sandboxNote{Mode: sandbox.None}
	p, err := h.policyFor(uri, s)
	if err != nil {
		return // the call will say it
	}
	if p != nil {
		note = sandboxNote{Mode: p.Mode, Network: p.Network, Inside: !h.runsCommands(s.Provider, kind)}
		if a.ToolInput != nil && !note.Inside {
			note.Needs = p.Missing(a.ToolInput.Text, h.cfg.Home)
		}
		if !note.Inside && !FromGuest(m) {
			offerOutside(a)
		}
	}
	var own map[string]any
	if json.Unmarshal(a.Meta["ahphub"], &own) != nil || own == nil {
		own = map[string]any{}
	}
	own["sandbox"] = note
	raw, err := json.Marshal(own)
	if err != nil {
		return // plain values always encode
	}
	a.Meta = core.CloneMeta(a.Meta)
	a.Meta["ahphub"] = raw
}

// runsCommands reports whether the host runs the commands of an agent's calls of a kind, and not the agent itself.
func (h *Host) runsCommands(provider, kind string) bool {
	_, by := h.cfg.Agents[provider].(agent.HostRun)
	return by && kind == agent.CommandTool
}

// IsSandboxed reports whether the programs of a session are kept in a sandbox.
func (h *Host) IsSandboxed(session ahp.URI) bool {
	e := h.core.Catalogue.Alive(session)
	if e == nil || h.cfg.Sandbox == nil {
		return false
	}
	mode, err := h.cfg.Sandbox.Resolve(e.Sandbox)
	return err == nil && mode != sandbox.None
}

// SandboxWarning says why the sessions of this server are in no sandbox, or in part of one, though they are to be in one
// where that works; "" when they are, and when the owner wants it so.
func (h *Host) SandboxWarning() (why string, partly bool) {
	if h.cfg.Sandbox == nil || h.cfg.Sandbox.Mode == sandbox.None {
		return "", false
	}
	return h.cfg.Sandbox.Why, h.cfg.Sandbox.Works()
}

// sandboxDirs makes the directories of a session's sandbox in which its programs write for the hub, and in which they read
// what the session was sent; "" when it has no sandbox.
func (h *Host) sandboxDirs(session ahp.URI, s *ahp.SessionState) (work, sent string, err error) {
	if h.cfg.Sandbox == nil {
		return "", "", nil
	}
	p, err := h.policyFor(session, s)
	if err != nil || p == nil {
		return "", "", err
	}
	work, sent = sandbox.WorkDir(h.cfg.Sandbox.Dir, p.Session), sandbox.SentDir(h.cfg.Sandbox.Dir, p.Session)
	return work, sent, errors.Join(os.MkdirAll(work, 0o700), os.MkdirAll(sent, 0o700))
}

// sandboxSpec returns what asks for a session's policy each time that its agent starts; nil without sandboxes.
func (l *live) sandboxSpec(s *ahp.SessionState) func(context.Context) (*sandbox.Policy, error) {
	if l.h.cfg.Sandbox == nil {
		return nil
	}
	return func(context.Context) (*sandbox.Policy, error) {
		if now, ok := hub.StateOf[*ahp.SessionState](l.h.core.Hub, l.uri); ok {
			return l.h.policyFor(l.uri, now)
		}
		return l.h.policyFor(l.uri, s) // it is being created
	}
}
