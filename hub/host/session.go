package host

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/host/sandboxes"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	defaultTitle    = "New session"
	maxAuditedAgent = 100 // bytes of the agent's title, which names its machine
)

// CreateSession creates a session with the client's URI. When it returns, snapshot and catalogue
// show the session with its default chat. session/ready follows (AHP requirements 65 to 70), and
// the agent opens once the session has content.
//
// Errors: -32003 the URI is taken, -32002 no such agent, -32602 a directory, setting or active
// client is invalid, -32009 not allowed.
func (h *Host) CreateSession(ctx context.Context, c core.Caller, p ahp.CreateSessionParams) error {
	if err := c.MayCall("createSession", core.RootInfo); err != nil {
		return err
	}
	report, err := newProgress(c, p.ProgressToken)
	if err != nil {
		return err
	}
	state, err := h.newSession(ctx, c, p)
	if err != nil {
		return err
	}
	audit.Detail(ctx, texts.CutBytes(texts.OneLine(h.agents.Info(state.Provider).DisplayName), maxAuditedAgent))
	unmake, err := h.isolate(ctx, p.Channel, state, report.step)
	if err != nil {
		report.end("Couldn't prepare the session's directories")
		return err
	}
	var taken error
	err = h.core.Hub.Do(func(tx *hub.Tx) {
		if taken = h.admit(tx, p.Channel, state); taken == nil {
			h.provisional.makeProvisional(tx, p.Channel, c.Ref())
			if p.ActiveClient != nil {
				h.clients.List(tx, p.Channel, c.Ref())
			}
			h.opening.note(p.Channel, report)
		}
	})
	if err = errors.Join(err, taken); err != nil {
		report.end("Couldn't create the session")
		unmake()
	}
	return err
}

// admit opens a new session and schedules the opening of its agent.
func (h *Host) admit(tx *hub.Tx, uri ahp.URI, state *ahp.SessionState) error {
	if err := h.openSession(tx, uri, state); err != nil {
		return err
	}
	worktrees.Record(tx, uri, state)
	tx.Effect(uri, func(context.Context) { h.begin(uri) })
	return nil
}

// newSession validates a client's parameters and returns the session's first state.
func (h *Host) newSession(ctx context.Context, c core.Caller, p ahp.CreateSessionParams) (*ahp.SessionState, error) {
	name := h.agents.Name(p.Provider)
	backend, err := h.agents.Find(name)
	if err != nil {
		return nil, err
	}
	if err := h.checkNewURI(p.Channel); err != nil {
		return nil, err
	}
	dirs, err := h.newDirs(ctx, p.Channel, name, p.WorkingDirectories)
	if err != nil {
		return nil, err
	}
	config, err := newConfigOf(h.schemaOf(backend), p.Config)
	if err != nil {
		return nil, err
	}
	clients := []ahp.SessionActiveClient{}
	if a := p.ActiveClient; a != nil {
		if a.ClientID != c.ClientID {
			return nil, core.BadParams("activeClient.clientId: %q is not the clientId of this connection (%q)",
				a.ClientID, c.ClientID)
		}
		clients = append(clients, *a)
	}
	chat := core.NewChatURI()
	return &ahp.SessionState{
		Provider: name, Title: defaultTitle, Status: ahp.SessionStatusIdle, Lifecycle: ahp.SessionLifecycleCreating,
		WorkingDirectories: dirs, Config: config, ActiveClients: clients, Project: projectOf(dirs),
		Annotations: &ahp.AnnotationsSummary{Resource: core.AnnotationsURI(p.Channel)},
		Chats: []ahp.ChatSummary{{Resource: chat, Title: "Chat", Status: ahp.SessionStatusIdle,
			ModifiedAt: core.Timestamp(h.core.Now())}},
		DefaultChat: chat, Changesets: h.Changes.Catalogue(p.Channel),
	}, nil
}

// checkNewURI validates the URI that a client chose for a session: unused, and ahp-session:/<id>,
// or <provider>:/<id> for clients that read the agent from the scheme.
func (h *Host) checkNewURI(uri ahp.URI) error {
	schemes := append([]string{"ahp-session"}, slices.DeleteFunc(h.Providers(), isProtocolScheme)...)
	if err := core.CheckNewURI("channel", "session", uri, schemes...); err != nil {
		return err
	}
	switch _, taken := h.core.Hub.Info(uri); {
	case strings.Contains(uri, "://") || strings.HasSuffix(uri, "/annotations") || strings.Contains(uri, "/changeset/"):
		return core.BadParams("channel: %s is reserved. Use a URI like ahp-session:/<uuid>", uri)
	case h.core.Catalogue.Count(false) >= h.core.Limits.Sessions:
		return core.BadParams("there are already %d sessions. Dispose some first", h.core.Limits.Sessions)
	case taken || h.core.Catalogue.Get(uri) != nil:
		return sessionExists(uri)
	}
	return nil
}

// checkTerminalURI accepts the three forms of VS Code too: agenthost-terminal:/<id>, agenthost-terminal:///<id> and
// agenthost-terminal://<host>/<id>.
func checkTerminalURI(uri ahp.URI) error {
	return core.CheckNewURI("channel", "terminal", uri, "ahp-terminal", "agenthost-terminal")
}

func isProtocolScheme(scheme string) bool { return strings.HasPrefix(scheme, "ahp-") }

func sessionExists(uri ahp.URI) error {
	return ahp.Errorf(ahp.CodeSessionAlreadyExists, "the session %s already exists. Choose another URI", uri)
}

// openSession opens the channels of a new session, all in one step.
func (h *Host) openSession(tx *hub.Tx, uri ahp.URI, s *ahp.SessionState) error {
	if tx.Open(core.SessionInfo(uri), s) != nil {
		return sessionExists(uri) // another caller created it first
	}
	chat := s.Chats[0]
	h.openChat(tx, uri, &ahp.ChatState{Resource: chat.Resource, Title: chat.Title, Status: chat.Status,
		ModifiedAt: chat.ModifiedAt, Turns: []*ahp.Turn{}})
	h.enlist(tx, uri, s, chat.ModifiedAt)
	return nil
}

// enlist creates a session's annotations channel and its catalogue entry.
func (h *Host) enlist(tx *hub.Tx, uri ahp.URI, s *ahp.SessionState, created string) {
	h.core.MustOpen(tx, hub.ChannelInfo{URI: core.AnnotationsURI(uri), Kind: ahp.ChannelAnnotations, Session: uri},
		&ahp.AnnotationsState{Annotations: []ahp.Annotation{}})
	e := &core.Entry{Summary: ahp.SessionSummary{Resource: uri, Provider: s.Provider, CreatedAt: created,
		Annotations: s.Annotations}}
	e.Sandbox = core.ConfigValue(s, sandboxes.Key)
	updateSummary(e, s)
	h.core.Save(tx, e)
	h.notices.notifyAdded(tx, e.Summary)
}

// begin makes a new session ready (AHP requirement 68). If it has content, its agent is opened now,
// otherwise once it has.
func (h *Host) begin(uri ahp.URI) {
	if !h.IsProvisional(uri) {
		h.openNow(uri)
		return
	}
	h.Customs.Refresh(uri)
	h.opening.pause(uri)
	h.provisional.change(uri, func(p *provisional) { p.unopened = true })
	// fails only if the host stops
	_ = h.core.Do(h.core.Ctx, func(tx *hub.Tx) { tx.Apply(uri, &ahp.SessionReadyAction{}) })
}

// openNow opens a session's agent and reports the result.
func (h *Host) openNow(uri ahp.URI) {
	h.Customs.Refresh(uri)
	l := h.turns.runtimeOf(uri)
	l.startTask(func() {
		_, err := l.open(l.ctx)
		h.opening.take(uri).end(openedText(err)) // still there if a turn opened the agent first
		if l.ctx.Err() != nil {
			return // disposed, or the host stops and retries at its next start
		}
		l.settle(err)
	})
}

func openedText(err error) string {
	if err != nil {
		return "The agent didn't start"
	}
	return "Ready"
}

func (l *sessionRuntime) settle(err error) {
	var a ahp.Action = &ahp.SessionReadyAction{}
	if err != nil {
		l.h.core.Log.Warn("an agent did not open", "session", l.uri, "err", err)
		a = &ahp.SessionCreationFailedAction{Error: ahp.ErrorInfo{ErrorType: errorType(err), Message: l.hide(err.Error())}}
	}
	_ = l.h.core.Do(l.ctx, func(tx *hub.Tx) { tx.Apply(l.uri, a) }) // fails only if the session ends
}

// nameSession sets the title to the first line of the first message.
func (h *Host) nameSession(tx *hub.Tx, session ahp.URI, text string) {
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	line := firstLine(text)
	if !ok || s.Title != defaultTitle || line == "" {
		return
	}
	tx.Apply(session, &ahp.SessionTitleChangedAction{Title: texts.ElideRunes(line, 80)})
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

func (h *Host) markUnread(tx *hub.Tx, session ahp.URI) {
	tx.Apply(session, &ahp.SessionIsReadChangedAction{IsRead: false})
}

// spec returns the parameters for opening the session's agent; report receives the steps.
func (l *sessionRuntime) spec(s *ahp.SessionState, report *progress) (agent.Spec, error) {
	data := l.h.agentData(l.uri)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return agent.Spec{}, err
	}
	work, sent, err := l.h.Sandboxes.Dirs(l.uri, s)
	if err != nil {
		return agent.Spec{}, err
	}
	return agent.Spec{Work: work, Sent: sent, Sandbox: l.h.Sandboxes.Asker(l.uri, s), Session: l.uri,
		Dirs: core.LocalPaths(s.WorkingDirectories), Config: l.config, Data: data,
		MCP: append(l.giveTools(s), l.giveServers(l.h.agents.Get(s.Provider))...), Host: agentHost{l},
		Log: l.h.core.Log.With("session", l.uri), Progress: report.step, Worktrees: core.OwnWorktrees(l.uri),
		Secrets: func(ctx context.Context) ([]string, error) {
			env, _, err := l.h.secrets.Give(ctx, l.uri, true)
			return env, err
		}, Hide: l.hide}, nil
}

// hide redacts the session's secrets from a text.
func (l *sessionRuntime) hide(text string) string { return l.h.secrets.Hidden(l.uri).String(text) }

// config returns the current value of a setting.
func (l *sessionRuntime) config(key string) string {
	s, ok := hub.StateOf[*ahp.SessionState](l.h.core.Hub, l.uri)
	if !ok {
		return ""
	}
	return core.ConfigValue(s, key)
}
