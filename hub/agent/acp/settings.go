package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/jsonrpc"
	"github.com/ahphub/ahphub/hub/texts"
)

// The settings of a session apply to each of its chats: the program's settings of a chat are set to
// them before its prompts.

// storeNewSettings stores the settings of a new or resumed session of the program. It reports only
// the values that the session's settings leave open: the others are set before the next prompt.
func (s *session) storeNewSettings(p *peer, id string, list []setting) {
	s.keep(p, id, s.withInitial(list))
	s.reportSettings(p, list, func(d setting) bool { return s.wanted(d, true) == nil })
}

// storeSettings stores the settings after a change. Of unchanged ones it reports only that of key,
// for which clients may assume another value.
func (s *session) storeSettings(p *peer, id string, list []setting, key string) {
	before := s.keep(p, id, s.withInitial(list))
	s.reportSettings(p, list, func(d setting) bool {
		stood := slices.ContainsFunc(before, func(was setting) bool { return was.key == d.key && was.is(d.current) })
		return d.key == key || !stood
	})
}

// withInitial fills in the settings' values in the previous new session.
func (s *session) withInitial(list []setting) []setting {
	known := s.memory.get().Settings
	for i, d := range list {
		if d.initial == nil {
			list[i].initial = known[d.key].Default
		}
	}
	return list
}

func (s *session) keep(p *peer, id string, list []setting) (before []setting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, p.settings[id] = p.settings[id], list
	return before
}

func (s *session) reportSettings(p *peer, list []setting, stands func(setting) bool) {
	o := agent.Offer{Settings: map[string]ahp.SessionConfigPropertySchema{}, Values: ahp.Meta{},
		Models: models(s.prog.Name, list, p.about.AgentCapabilities.PromptCapabilities.Image),
		Logins: logins(s.prog.Name, p.about.AuthMethods)}
	for _, d := range list {
		o.Settings[d.key] = d.schema()
		if stands(d) {
			o.Values[d.key] = d.current
		}
	}
	s.memory.learn(o)
	s.spec.Host.Learn(o)
}

// recordSetting records a setting's new value.
func (s *session) recordSetting(p *peer, id, key string, value json.RawMessage) {
	s.mu.Lock()
	list := slices.Clone(p.settings[id])
	s.mu.Unlock()
	for i := range list {
		if list[i].key == key {
			list[i].current = value
		}
	}
	s.storeSettings(p, id, list, key)
}

// handleNotice handles the program's notifications about its session outside of turns; false for those of
// a turn.
func (s *session) handleNotice(p *peer, n *sessionNotice) bool {
	switch n.Update.Kind {
	case "current_mode_update":
		s.mu.Lock()
		i := slices.IndexFunc(p.settings[n.SessionID], func(d setting) bool { return d.category == "mode" })
		var key string
		if i >= 0 {
			key = p.settings[n.SessionID][i].key
		}
		s.mu.Unlock()
		if key != "" {
			s.recordSetting(p, n.SessionID, key, encodeString(n.Update.CurrentModeID))
		}
	case "config_option_update":
		s.options(p, n.SessionID, n.Update.ConfigOptions, "")
	case "available_commands_update":
		s.setCommands(n.Update.AvailableCommands)
	case "session_info_update":
		s.setTitle(n.SessionID, n.Update.Title)
	default:
		return false
	}
	return true
}

// setTitle passes on the program's title of a chat.
func (s *session) setTitle(id string, title *string) {
	s.mu.Lock()
	var chat ahp.URI
	for uri, c := range s.chats {
		if c.Session == id {
			chat = uri
		}
	}
	s.mu.Unlock()
	if chat != "" && value(title) != "" {
		s.spec.Host.Learn(agent.Offer{Chat: chat, Title: *title})
	}
}

// options stores a complete list of options; settings of other kinds stay.
func (s *session) options(p *peer, id string, list []configOption, key string) {
	s.mu.Lock()
	kept := slices.DeleteFunc(slices.Clone(p.settings[id]), func(d setting) bool { return d.kind == optionSetting })
	s.mu.Unlock()
	current := settingsOf(settings{ConfigOptions: list})
	for _, d := range kept {
		if !slices.ContainsFunc(current, func(have setting) bool { return have.category == d.category }) {
			current = append(current, d)
		}
	}
	s.storeSettings(p, id, current, key)
}

// Set changes a setting in every open chat. Others follow with their next prompt.
func (s *session) Set(ctx context.Context, key string, value json.RawMessage) error {
	if !s.running() {
		return nil
	}
	p, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer s.release()
	s.mu.Lock()
	bySession := maps.Clone(p.settings)
	s.mu.Unlock()
	var failed error
	for id, list := range bySession {
		for _, d := range list {
			if d.key == key && !d.is(value) {
				failed = errors.Join(failed, s.changeSetting(ctx, p, id, d, value))
			}
		}
	}
	if failed != nil {
		s.complain(failed)
	}
	return failed
}

// unasked are programs' names for modes in which they do not ask for permission.
var unasked = []string{"acceptedits", "autoedit", "auto", "autoapprove", "fullauto", "bypasspermissions", "bypass",
	"dontask", "yolo", "fullaccess", "agentfullaccess"}

// unaskedMode returns the mode of a program's session if it asks for no permission, "" otherwise.
func (s *session) unaskedMode(p *peer, id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range p.settings[id] {
		plainer := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(plain(d.current)))
		if d.category == "mode" && slices.Contains(unasked, plainer) {
			return d.label(d.current)
		}
	}
	return ""
}

// model returns the model of a program's session, "" if unknown.
func (s *session) model(p *peer, id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range p.settings[id] {
		if d.category == "model" {
			return plain(d.current)
		}
	}
	return ""
}

func (s *session) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peer != nil && !s.peer.isGone()
}

// changeSetting changes one setting of the program. A refused value is reported again, so that
// clients do not assume it applies.
func (s *session) changeSetting(ctx context.Context, p *peer, id string, d setting, value json.RawMessage) error {
	err := d.validate(value)
	if err == nil {
		err = s.sendSetting(ctx, p, id, d, value)
	}
	if err == nil {
		return nil
	}
	s.recordSetting(p, id, d.key, d.current)
	return fmt.Errorf("%s stays as it was: %w", d.title, err)
}

func (s *session) sendSetting(ctx context.Context, p *peer, id string, d setting, value json.RawMessage) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.Start, errSlow)
	defer cancel()
	var err error
	switch d.kind {
	case modeSetting:
		err = p.call(ctx, "session/set_mode", map[string]string{"sessionId": id, "modeId": plain(value)}, nil)
	case modelSetting:
		err = p.call(ctx, "session/set_model", map[string]string{"sessionId": id, "modelId": plain(value)}, nil)
	default:
		q := setOption{SessionID: id, ConfigID: d.id, Value: value}
		if d.boolean() {
			q.Type = "boolean"
		}
		var all settings
		if err = p.call(ctx, "session/set_config_option", q, &all); err == nil && all.ConfigOptions != nil {
			s.options(p, id, all.ConfigOptions, d.key) // one option may change others
			return nil
		}
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == jsonrpc.CodeMethodNotFound {
		return fmt.Errorf("%s cannot change this while it runs", s.prog.title())
	}
	if err != nil {
		return p.explain(err)
	}
	s.recordSetting(p, id, d.key, value)
	return nil
}

// settle sets the program's settings of a chat to the session's before a prompt; a message may name
// its model. Failures are reported, and the turn continues.
func (s *session) settle(ctx context.Context, p *peer, id string, m ahp.Message, fresh bool) (notes []string) {
	s.mu.Lock()
	list := p.settings[id]
	s.mu.Unlock()
	model := ""
	if m.Model != nil {
		model = m.Model.ID
	}
	for _, d := range list {
		want := s.wanted(d, fresh)
		if d.category == "model" && model != "" {
			if model != anyModel || d.validate(encodeString(model)) == nil { // some programs have a model of this name
				want = encodeString(model)
			}
			model = ""
		}
		if want == nil || d.is(want) {
			continue
		}
		if err := s.changeSetting(ctx, p, id, d, want); err != nil && ctx.Err() == nil {
			notes = append(notes, err.Error())
		}
	}
	if model != "" && model != anyModel {
		notes = append(notes, fmt.Sprintf(
			"%s doesn't let its model be chosen. It continues with its own model instead of %s", s.prog.title(),
			texts.ElideBytes(model, 80)))
	}
	return notes
}

// wanted returns the value a setting should have; nil to leave it.
func (s *session) wanted(d setting, fresh bool) json.RawMessage {
	text := s.spec.Config(d.key)
	if s.creatingFirstChat.Load() && text == s.previousDefaults[d.key] {
		text = "" // not chosen: it is the value of the previous new session
	}
	if text == "" && fresh && d.category == "model" {
		text = s.prog.Model
	}
	switch {
	case text == "":
		return nil
	case d.boolean():
		return json.RawMessage(text)
	}
	return encodeString(text)
}

const mostComplaints = 8

// complain keeps a note about the settings for the next turn.
func (s *session) complain(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.complaints) < mostComplaints {
		s.complaints = append(s.complaints, err.Error())
	}
}

func (s *session) takeComplaints() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.complaints
	s.complaints = nil
	return list
}
