package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/jsonrpc"
	"github.com/ahphub/ahphub/hub/texts"
)

// Ask sends a request of the host to a principal's client, as about files that the client published, and reads the
// answer into result. It ends with the client's connection, with ctx, or when the client is silent for Limits.Ask; what
// cannot be read is an error.
func (e *Endpoint) Ask(ctx context.Context, principal, clientID, method string, params, result any) error {
	s := e.client(principal, clientID)
	if s == nil {
		return away(clientID)
	}
	b, err := ahp.Marshal(params)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Limits.Ask)
	defer cancel()
	raw, err := s.rpc.Call(ctx, method, b)
	if err != nil {
		return e.askFailed(ctx, clientID, method, err)
	}
	if err := ahp.Unmarshal(raw, result); err != nil || len(raw) == 0 || raw[0] != '{' {
		return ahp.Errorf(ahp.CodeInternalError, "client %.80s answered %s with what cannot be read", clientID, method)
	}
	return nil
}

// client finds the connection of a principal's client.
func (e *Endpoint) client(principal, clientID string) *socket {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.sockets {
		if s.is(principal, clientID) {
			return s
		}
	}
	return nil
}

func (s *socket) is(principal, clientID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil && s.reason == nil && s.clientID == clientID && s.principal.ID == principal
}

func away(clientID string) error {
	if clientID == "" {
		return ahp.Errorf(ahp.CodeNotFound, "who published it cannot be asked for it any more")
	}
	return ahp.Errorf(ahp.CodeNotFound, "it lies with client %.80s, which is not connected: open that client and try again", clientID)
}

// askFailed is what the asked client's refusal, or its silence, means to whoever asked the host.
func (e *Endpoint) askFailed(ctx context.Context, clientID, method string, err error) error {
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		return refusal(refused)
	case errors.Is(err, jsonrpc.ErrClosed):
		return away(clientID)
	case errors.Is(err, context.DeadlineExceeded):
		return ahp.Errorf(ahp.CodeInternalError, "client %.80s did not answer %s within %v", clientID, method, e.cfg.Limits.Ask)
	case errors.Is(err, jsonrpc.ErrBusy):
		return ahp.Errorf(ahp.CodeInternalError, "client %.80s has not answered what it was asked before: try again in a moment", clientID)
	}
	return err
}

// passed are the codes that mean the same whoever says them.
var passed = []int{ahp.CodeNotFound, ahp.CodePermissionDenied, ahp.CodeAlreadyExists, ahp.CodeConflict, ahp.CodeInvalidParams, ahp.CodeMethodNotFound}

func refusal(e *jsonrpc.Error) error {
	out := &ahp.Error{Code: ahp.CodeInternalError, Message: "the client says: " + texts.ElideBytes(e.Message, 500)}
	if slices.Contains(passed, e.Code) {
		out.Code = e.Code
	}
	return out
}

// ofClient reports whether a request is about files that lie with a client.
func ofClient(m jsonrpc.Message) bool {
	var p struct {
		URI         ahp.URI `json:"uri"`
		Source      ahp.URI `json:"source"`
		Destination ahp.URI `json:"destination"`
	}
	_ = json.Unmarshal(m.Params, &p) // whoever runs the request says what is wrong with it
	return ahp.OfClient(p.URI) || ahp.OfClient(p.Source) || ahp.OfClient(p.Destination)
}
