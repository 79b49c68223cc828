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

// The settings of a session apply to each of its chats: a chat's dials are set to them before its
// prompts.

// storeNewDials stores the dials of a new or resumed session of the program. It reports only the values
// that the session's settings leave open: the others are set before the next prompt.
func (s *session) storeNewDials(p *peer, id string, dials []dial) {
	s.keep(p, id, s.withInitial(dials))
	s.reportDials(p, dials, func(d dial) bool { return s.wanted(d, true) == nil })
}

// storeDials stores the dials after a change. Of unchanged dials it reports only that of key, for
// which clients may assume another value.
func (s *session) storeDials(p *peer, id string, dials []dial, key string) {
	before := s.keep(p, id, s.withInitial(dials))
	s.reportDials(p, dials, func(d dial) bool {
		stood := slices.ContainsFunc(before, func(was dial) bool { return was.key == d.key && was.is(d.current) })
		return d.key == key || !stood
	})
}

// withInitial fills in the dials' values in the previous new session.
func (s *session) withInitial(dials []dial) []dial {
	known := s.memory.get().Settings
	for i, d := range dials {
		if d.initial == nil {
			dials[i].initial = known[d.key].Default
		}
	}
	return dials
}

func (s *session) keep(p *peer, id string, dials []dial) (before []dial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, p.dials[id] = p.dials[id], dials
	return before
}

func (s *session) reportDials(p *peer, dials []dial, stands func(dial) bool) {
	o := agent.Offer{Settings: map[string]ahp.SessionConfigPropertySchema{}, Values: ahp.Meta{},
		Models: models(s.prog.Name, dials, p.about.AgentCapabilities.PromptCapabilities.Image),
		Logins: logins(s.prog.Name, p.about.AuthMethods)}
	for _, d := range dials {
		o.Settings[d.key] = d.schema()
		if stands(d) {
			o.Values[d.key] = d.current
		}
	}
	s.memory.learn(o)
	s.spec.Host.Learn(o)
}

// setDial records a dial's new value.
func (s *session) setDial(p *peer, id, key string, value json.RawMessage) {
	s.mu.Lock()
	dials := slices.Clone(p.dials[id])
	s.mu.Unlock()
	for i := range dials {
		if dials[i].key == key {
			dials[i].current = value
		}
	}
	s.storeDials(p, id, dials, key)
}

// handleNotice handles the program's notifications about its session outside of turns; false for those of
// a turn.
func (s *session) handleNotice(p *peer, n *sessionNotice) bool {
	switch n.Update.Kind {
	case "current_mode_update":
		s.mu.Lock()
		i := slices.IndexFunc(p.dials[n.SessionID], func(d dial) bool { return d.category == "mode" })
		var key string
		if i >= 0 {
			key = p.dials[n.SessionID][i].key
		}
		s.mu.Unlock()
		if key != "" {
			s.setDial(p, n.SessionID, key, encodeString(n.Update.CurrentModeID))
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

// options stores a complete list of options; dials of other kinds stay.
func (s *session) options(p *peer, id string, list []configOption, key string) {
	s.mu.Lock()
	kept := slices.DeleteFunc(slices.Clone(p.dials[id]), func(d dial) bool { return d.make == optionDial })
	s.mu.Unlock()
	dials := dialsOf(settings{ConfigOptions: list})
	for _, d := range kept {
		if !slices.ContainsFunc(dials, func(have dial) bool { return have.category == d.category }) {
			dials = append(dials, d)
		}
	}
	s.storeDials(p, id, dials, key)
}

// Set changes the dial of every open chat. Others follow with their next prompt.
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
	dials := maps.Clone(p.dials)
	s.mu.Unlock()
	var failed error
	for id, list := range dials {
		for _, d := range list {
			if d.key == key && !d.is(value) {
				failed = errors.Join(failed, s.turnDial(ctx, p, id, d, value))
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
	for _, d := range p.dials[id] {
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
	for _, d := range p.dials[id] {
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

// turnDial changes one dial of the program. A refused value is reported again, so that clients do
// not assume it applies.
func (s *session) turnDial(ctx context.Context, p *peer, id string, d dial, value json.RawMessage) error {
	err := d.takes(value)
	if err == nil {
		err = s.sendDial(ctx, p, id, d, value)
	}
	if err == nil {
		return nil
	}
	s.setDial(p, id, d.key, d.current)
	return fmt.Errorf("%s stays as it was: %w", d.title, err)
}

func (s *session) sendDial(ctx context.Context, p *peer, id string, d dial, value json.RawMessage) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.limits.Start, errSlow)
	defer cancel()
	var err error
	switch d.make {
	case modeDial:
		err = p.call(ctx, "session/set_mode", map[string]string{"sessionId": id, "modeId": plain(value)}, nil)
	case modelDial:
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
	s.setDial(p, id, d.key, value)
	return nil
}

// settle sets a chat's dials to the session's settings before a prompt; a message may name its
// model. Failures are reported, and the turn continues.
func (s *session) settle(ctx context.Context, p *peer, id string, m ahp.Message, fresh bool) (notes []string) {
	s.mu.Lock()
	dials := p.dials[id]
	s.mu.Unlock()
	model := ""
	if m.Model != nil {
		model = m.Model.ID
	}
	for _, d := range dials {
		want := s.wanted(d, fresh)
		if d.category == "model" && model != "" {
			if model != anyModel || d.takes(encodeString(model)) == nil { // some programs have a model of this name
				want = encodeString(model)
			}
			model = ""
		}
		if want == nil || d.is(want) {
			continue
		}
		if err := s.turnDial(ctx, p, id, d, want); err != nil && ctx.Err() == nil {
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

// wanted returns the value a dial should have; nil to leave it.
func (s *session) wanted(d dial, fresh bool) json.RawMessage {
	text := s.spec.Config(d.key)
	if s.making.Load() && text == s.usual[d.key] {
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
