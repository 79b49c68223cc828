package host

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/texts"
)

// offeredKey is the key in a session's `_meta` for settings that its agent named after the
// session's creation, as no action changes a session's schema.
const offeredKey = "ahphub/settings"

// Learn implements agent.Host: settings go to the session, models and logins to the root channel.
func (a agentHost) Learn(o agent.Offer) {
	l := a.l
	o.Title = l.hide(o.Title)
	if o.Logged != nil {
		l.noteLogged(o.Chat, o.Logged.Lines)
		return
	}
	err := l.h.core.Do(l.ctx, func(tx *hub.Tx) {
		s, ok := hub.StateOf[*ahp.SessionState](tx, l.uri)
		if !ok {
			return
		}
		offerSettings(tx, l.uri, s, o)
		offerModels(tx, s.Provider, o)
		requireLogin(tx, o)
		offerTitle(tx, l.uri, s, o)
	})
	if err != nil {
		l.h.core.Log.Debug("what an agent can be set to was not noted", "session", l.uri, "err", err)
	}
}

// offerSettings stores the agent's settings and their current values in the session. Settings that
// equal the schema's are not stored again.
func offerSettings(tx *hub.Tx, session ahp.URI, s *ahp.SessionState, o agent.Offer) {
	if s.Config == nil || o.Settings == nil {
		return
	}
	late := map[string]ahp.SessionConfigPropertySchema{}
	for key, p := range o.Settings {
		if have, ok := s.Config.Schema.Properties[key]; !ok || !reflect.DeepEqual(have, p) {
			late[key] = p
		}
	}
	if meta, changed := withLateSettings(s.Meta, late); changed {
		tx.Apply(session, &ahp.SessionMetaChangedAction{Meta: meta})
	}
	changed := ahp.Meta{}
	for key, value := range o.Values {
		if !sameJSON(value, s.Config.Values[key]) {
			changed[key] = value
		}
	}
	if len(changed) > 0 {
		tx.Apply(session, &ahp.SessionConfigChangedAction{Config: changed})
	}
}

// withLateSettings returns meta with the late settings and all other keys (AHP requirement 85).
func withLateSettings(meta ahp.Meta, late map[string]ahp.SessionConfigPropertySchema) (ahp.Meta, bool) {
	was, had := meta[offeredKey]
	if len(late) == 0 {
		next := core.CloneMeta(meta)
		delete(next, offeredKey)
		return next, had
	}
	raw, err := json.Marshal(late)
	if err != nil || had && sameJSON(was, raw) {
		return nil, false
	}
	next := core.CloneMeta(meta)
	next[offeredKey] = raw
	return next, true
}

// Settings returns a session's settings, including those that its agent named later, or nil.
func Settings(s *ahp.SessionState) *ahp.SessionConfigState {
	raw, ok := s.Meta[offeredKey]
	if s.Config == nil || !ok {
		return s.Config
	}
	var late map[string]ahp.SessionConfigPropertySchema
	if json.Unmarshal(raw, &late) != nil {
		return s.Config
	}
	all := *s.Config
	all.Schema.Properties = maps.Clone(all.Schema.Properties)
	maps.Copy(all.Schema.Properties, late)
	return &all
}

// offerTitle titles a session like its default chat, unless a person set the title. Until then, the
// title is the first line of the first message.
func offerTitle(tx *hub.Tx, session ahp.URI, s *ahp.SessionState, o agent.Offer) {
	chat, ok := hub.StateOf[*ahp.ChatState](tx, s.DefaultChat)
	title := texts.CutBytes(texts.OneLine(o.Title), core.MaxTitle)
	if !ok || title == "" || o.Chat != s.DefaultChat {
		return
	}
	first := ""
	switch {
	case len(chat.Turns) > 0:
		first = chat.Turns[0].Message.Text
	case chat.ActiveTurn != nil:
		first = chat.ActiveTurn.Message.Text
	}
	if s.Title == defaultTitle || s.Title == texts.CutBytes(firstLine(first), 80) {
		tx.Apply(session, &ahp.SessionTitleChangedAction{Title: title})
	}
}

// offerModels publishes an agent's models and logins in the list of agents.
func offerModels(tx *hub.Tx, provider string, o agent.Offer) {
	root, ok := hub.StateOf[*ahp.RootState](tx, ahp.RootURI)
	if !ok {
		return
	}
	i := slices.IndexFunc(root.Agents, func(a ahp.AgentInfo) bool { return a.Provider == provider })
	if i < 0 {
		return
	}
	next := root.Agents[i]
	if o.Models != nil {
		next.Models = o.Models
	}
	if o.Logins != nil {
		next.ProtectedResources = o.Logins
	}
	if reflect.DeepEqual(next, root.Agents[i]) {
		return
	}
	agents := slices.Clone(root.Agents)
	agents[i] = next
	tx.Apply(ahp.RootURI, &ahp.RootAgentsChangedAction{Agents: agents})
}

// requireLogin notifies subscribers of the root channel which secrets an agent needs (AHP
// requirement 192).
func requireLogin(tx *hub.Tx, o agent.Offer) {
	if o.LoginNeeded == "" {
		return
	}
	for _, r := range o.Logins {
		tx.Notify(core.RootInfo, ahp.RootURI, "auth/required", ahp.AuthRequiredParams{Channel: ahp.RootURI, Resource: r,
			Reason: o.LoginNeeded})
	}
}

// handleSettingsChanged passes a client's settings to the agent. The agent resets a value that it
// rejects, and says why in its next turn.
func (h *Host) handleSettingsChanged(ctx context.Context, session ahp.URI, values ahp.Meta) {
	l := h.turns.findRuntime(session)
	if l == nil {
		return // the agent gets them when it is opened
	}
	l.mu.Lock()
	s, ok := l.agent.(agent.Settable)
	l.mu.Unlock()
	if !ok {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if err := s.Set(ctx, key, values[key]); err != nil {
			h.core.Log.Warn("an agent did not take a setting", "session", session, "setting", key, "err", err)
		}
	}
}

// AgentIcon returns an agent's icon, or "".
func (h *Host) AgentIcon(provider string) string {
	if b, ok := h.agents.Get(provider).(agent.Iconed); ok {
		return b.Icon()
	}
	return ""
}

// noteLogged stores for AgentLog what an agent logged while a turn waits for it.
func (l *sessionRuntime) noteLogged(chat ahp.URI, lines []string) {
	for i := range lines {
		lines[i] = l.hide(lines[i])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[chat]; r != nil {
		r.logged = lines
	}
}

// AgentLog returns the last lines that an agent logged in a running turn of a chat.
func (h *Host) AgentLog(chat ahp.URI) []string {
	info, known := h.core.Hub.Info(chat)
	if !known {
		return nil
	}
	l := h.turns.findRuntime(info.Session)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.runs[chat]; r != nil && !r.over.Load() {
		return r.logged
	}
	return nil
}
