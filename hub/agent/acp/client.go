package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// handle runs the program's requests and notifications, on its reader's goroutine: what belongs to
// a turn is queued in order, the rest is answered concurrently.
func (s *session) handle(p *peer, m jsonrpc.Message) {
	switch m.Method {
	case "session/update":
		var n sessionNotice
		if err := json.Unmarshal(m.Params, &n); err != nil {
			s.log.Debug("cannot decode an agent's update", "err", err)
			return
		}
		p.replays.note(n.SessionID)
		if !s.handleNotice(p, &n) {
			s.deliver(p, n.SessionID, event{update: &n.Update})
		}
	case "session/request_permission":
		var ask permissionParams
		if err := json.Unmarshal(m.Params, &ask); err != nil {
			p.fail(m, badParams(err))
			return
		}
		s.deliver(p, ask.SessionID, event{ask: &ask, from: m})
	case "elicitation/create", "session/elicitation":
		e := &elicitation{nested: m.Method == "session/elicitation"}
		if err := json.Unmarshal(m.Params, &e.params); err != nil || !m.IsRequest() {
			p.fail(m, badParams(err))
			return
		}
		s.deliver(p, e.params.SessionID, event{elicit: e, from: m})
	case "elicitation/complete", "$/cancel_request":
		var n withdrawal
		if json.Unmarshal(m.Params, &n) == nil {
			s.deliverAll(p, event{withdraw: &n})
		}
	case "fs/read_text_file":
		with(p, m, s.readFile)
	case "fs/write_text_file":
		with(p, m, s.writeFile)
	case "terminal/create":
		with(p, m, s.createTerminal(p))
	case "terminal/output":
		with(p, m, p.terms.output)
	case "terminal/wait_for_exit":
		with(p, m, p.terms.wait)
	case "terminal/kill":
		with(p, m, p.terms.kill)
	case "terminal/release":
		with(p, m, p.terms.release)
	default:
		if m.IsRequest() {
			p.fail(m, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is no method " + m.Method +
				" here"})
		}
	}
}

// deliver queues an event for its turn, and waits while the queue is full.
func (s *session) deliver(p *peer, id string, e event) {
	if r := s.turn(id); r != nil && r.p == p {
		select {
		case <-r.over:
		default:
			select {
			case r.events <- e:
				return
			case <-r.over:
			}
		}
	}
	e.refuse(p)
}

// deliverAll queues an event without a session for every turn of a program.
func (s *session) deliverAll(p *peer, e event) {
	s.mu.Lock()
	ids := slices.Collect(maps.Keys(s.turns))
	s.mu.Unlock()
	for _, id := range ids {
		s.deliver(p, id, e)
	}
}

// with decodes a request's parameters and answers it.
func with[P any](p *peer, m jsonrpc.Message, do func(context.Context, P) (any, error)) {
	if !m.IsRequest() {
		return
	}
	var params P
	if err := json.Unmarshal(m.Params, &params); err != nil {
		p.fail(m, badParams(err))
		return
	}
	p.serve(m, func(ctx context.Context) (any, error) { return do(ctx, params) })
}

func badParams(err error) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprint(err)}
}
