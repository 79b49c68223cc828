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

// Ask sends a request of the host to a principal's client, for example about files that the client
// published, and decodes the answer into result. It ends with the client's connection, with ctx, or
// after Limits.Ask. An answer that cannot be decoded is an error.
func (e *Endpoint) Ask(ctx context.Context, principal, clientID, method string, params, result any) error {
	s := e.client(principal, clientID)
	if s == nil {
		return errAway(clientID)
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
		return ahp.Errorf(ahp.CodeInternalError, "client %.80s sent an invalid answer to %s", clientID, method)
	}
	return nil
}

// client returns the connection of a principal's client.
func (e *Endpoint) client(principal, clientID string) *socket {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.sockets {
		if s.belongsTo(principal, clientID) {
			return s
		}
	}
	return nil
}

func (s *socket) belongsTo(principal, clientID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn != nil && s.reason == nil && s.clientID == clientID && s.principal.ID == principal
}

func errAway(clientID string) error {
	if clientID == "" {
		return ahp.Errorf(ahp.CodeNotFound, "the client that published this file can no longer be asked for it")
	}
	return ahp.Errorf(ahp.CodeNotFound,
		"client %.80s has this file and is not connected. Open that client and try again", clientID)
}

// askFailed converts a client's refusal or timeout to an error for the original caller.
func (e *Endpoint) askFailed(ctx context.Context, clientID, method string, err error) error {
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		return refusal(refused)
	case errors.Is(err, jsonrpc.ErrClosed):
		return errAway(clientID)
	case errors.Is(err, context.DeadlineExceeded):
		return ahp.Errorf(ahp.CodeInternalError, "client %.80s did not answer %s within %v", clientID, method,
			e.cfg.Limits.Ask)
	case errors.Is(err, jsonrpc.ErrBusy):
		return ahp.Errorf(ahp.CodeInternalError, "client %.80s still has unanswered requests. Try again in a moment",
			clientID)
	}
	return err
}

// passed lists the codes that are passed on from an asked client unchanged.
var passed = []int{ahp.CodeNotFound, ahp.CodePermissionDenied, ahp.CodeAlreadyExists, ahp.CodeConflict,
	ahp.CodeInvalidParams, ahp.CodeMethodNotFound}

func refusal(e *jsonrpc.Error) error {
	out := &ahp.Error{Code: ahp.CodeInternalError, Message: "the client says: " + texts.ElideBytes(e.Message, 500)}
	if slices.Contains(passed, e.Code) {
		out.Code = e.Code
	}
	return out
}

// ofClient reports whether a request is about files that a client published.
func ofClient(m jsonrpc.Message) bool {
	var p struct {
		URI         ahp.URI `json:"uri"`
		Source      ahp.URI `json:"source"`
		Destination ahp.URI `json:"destination"`
	}
	_ = json.Unmarshal(m.Params, &p) // the method itself reports errors in its params
	return ahp.OfClient(p.URI) || ahp.OfClient(p.Source) || ahp.OfClient(p.Destination)
}
