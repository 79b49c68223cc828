package acp

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// The mapping between chats and the program's sessions.

// prepare makes the program's session for the first chat before its first prompt: a program that
// needs a login reports it here.
func (s *session) prepare(ctx context.Context, p *peer) error {
	id, err := s.create(ctx, p)
	if err != nil {
		return err
	}
	for _, note := range s.settle(ctx, p, id, ahp.Message{}, true) {
		s.complain(errors.New(note))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.spare = id
	return nil
}

func (s *session) create(ctx context.Context, p *peer) (string, error) {
	var made sessionResult
	err := p.call(ctx, "session/new", s.params(p, ""), &made)
	if p.logIn(ctx, err) {
		err = p.call(ctx, "session/new", s.params(p, ""), &made)
	}
	if err != nil {
		s.refused(p, err)
		return "", p.explain(err)
	}
	s.memory.learnLogin(true)
	if made.SessionID == "" {
		return "", errors.New(p.prog.title() + " created a session without an id. Install another release of it")
	}
	list := settingsOf(made.settings)
	for i := range list {
		list[i].initial = list[i].current
	}
	s.storeNewSettings(p, made.SessionID, list)
	return made.SessionID, nil
}

// params returns the parameters for making, resuming or forking a session.
func (s *session) params(p *peer, id string) sessionParams {
	q := sessionParams{SessionID: id, Cwd: s.dir,
		McpServers: servers(s.spec.MCP, p.about.AgentCapabilities.McpCapabilities.HTTP)}
	if len(s.spec.Dirs) > 1 && isObject(p.about.AgentCapabilities.SessionCapabilities.Dirs) {
		q.Dirs = s.spec.Dirs[1:]
	}
	return q
}

// join returns the program's session of a chat. fresh is set when that session does not know the
// chat's history.
func (s *session) join(ctx context.Context, p *peer, t agent.Turn) (id string, fresh bool, err error) {
	s.mu.Lock()
	was := s.chats[t.Chat]
	open := p.open[was.Session]
	s.mu.Unlock()
	if was.Session != "" && was.continues(t) && (open || s.load(ctx, p, was.Session)) {
		id = was.Session
	} else if id = s.fork(ctx, p, t); id != "" {
		s.log.Debug("forked an agent's session", "chat", t.Chat)
	} else if id, err = s.take(ctx, p); err != nil {
		return "", false, err
	} else {
		fresh = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.open[id] = true
	next := chat{Session: id, Turn: t.ID}
	if id == was.Session {
		next.Cost = was.Cost
	}
	s.chats[t.Chat] = next
	s.save()
	return id, fresh, nil
}

// continues reports whether a turn follows on what the program knows. After a cut or an edit of
// earlier messages it does not.
func (c chat) continues(t agent.Turn) bool {
	if c.Turn == t.ID {
		return true // resumed
	}
	n := len(t.History)
	return n > 0 && t.History[n-1].ID == c.Turn
}

// take returns the session prepared for a chat, or makes one.
func (s *session) take(ctx context.Context, p *peer) (string, error) {
	s.mu.Lock()
	id := p.spare
	p.spare = ""
	s.mu.Unlock()
	if id != "" {
		return id, nil
	}
	return s.create(ctx, p)
}

// load resumes a session of an earlier run of the program, if it can. Its replay is ignored, as no
// turn runs on it until the program is quiet.
func (s *session) load(ctx context.Context, p *peer, id string) bool {
	can := p.about.AgentCapabilities
	method := "session/load"
	switch {
	case isObject(can.SessionCapabilities.Resume):
		method = "session/resume"
	case !can.LoadSession:
		return false
	}
	replay := p.replays.begin(id)
	defer p.replays.end(id)
	var was sessionResult
	err := p.call(ctx, method, s.params(p, id), &was)
	if p.logIn(ctx, err) {
		err = p.call(ctx, method, s.params(p, id), &was)
	}
	if err == nil && method == "session/load" {
		err = replay.wait(ctx, p.ctx.Done(), s.limits.Quiet)
	}
	if err != nil {
		s.log.Warn("an agent lost its session; it continues from the transcript", "err", err)
		return false
	}
	s.storeNewSettings(p, id, settingsOf(was.settings))
	return true
}

// fork copies the program's session of the chat that this one was forked from, if the program can
// and that chat has not changed since: turns keep their ids in a fork. It returns "" if there is no
// copy.
func (s *session) fork(ctx context.Context, p *peer, t agent.Turn) string {
	if !isObject(p.about.AgentCapabilities.SessionCapabilities.Fork) || len(t.History) == 0 {
		return ""
	}
	last := t.History[len(t.History)-1].ID
	s.mu.Lock()
	var from string
	for uri, c := range s.chats {
		if uri != t.Chat && c.Turn == last && s.turns[c.Session] == nil {
			from = c.Session
		}
	}
	s.mu.Unlock()
	if from == "" {
		return ""
	}
	if !s.opened(p, from) && !s.load(ctx, p, from) {
		return ""
	}
	var made sessionResult
	if err := p.call(ctx, "session/fork", s.params(p, from), &made); err != nil || made.SessionID == "" {
		s.log.Warn("cannot fork an agent's session; the chat continues from its transcript", "err", err)
		return ""
	}
	s.storeNewSettings(p, made.SessionID, settingsOf(made.settings))
	return made.SessionID
}

func (s *session) opened(p *peer, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.open[id]
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// save stores which chat has which session. s.mu is held: writing is short and happens once in a
// turn.
func (s *session) save() {
	raw, err := json.Marshal(s.chats)
	if err == nil {
		err = os.WriteFile(s.file()+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(s.file()+".new", s.file())
	}
	if err != nil {
		s.log.Warn("cannot save an agent's chats; after a restart they continue from their transcripts", "err", err)
	}
}

func (s *session) enter(r *player) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns[r.id] = r
}

func (s *session) leave(r *player) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.turns, r.id)
	if r.costKnown {
		s.save()
	}
}

func (s *session) turn(id string) *player {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns[id]
}

// markCutOff records that a turn ended before its answer did, so that it can be resumed.
func (s *session) markCutOff(turn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.truncatedTurns) < mostTruncated {
		s.truncatedTurns[turn] = true
	}
}

func (s *session) isCutOff(turn string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.truncatedTurns[turn]
	delete(s.truncatedTurns, turn)
	return was
}
