package rpc

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

var (
	errShutdown = errors.New("the server is stopping. Reconnect in a moment")
	errVersion  = errors.New("no protocol version in common")
	errBinary   = errors.New("send JSON-RPC in text frames")
	errIdle     = errors.New("no request came in time. Send initialize or reconnect first")
	errSockets  = errors.New("too many connections are open. Close some of them, or try again later")
	errAnswers  = errors.New("too many answers of this size are being sent. Try again in a moment")
	errBacklog  = errors.New("too many answers are unread. Reconnect to resume")
	errBroken   = errors.New("internal error. Reconnect to resume")
	errEvicted  = errors.New("this clientId now belongs to another participant. Choose another one, such as a new UUID")
)

// known maps errors other than *ahp.Error to the code for the client; the message is the error's.
var known = []struct {
	err  error
	code int
}{
	{hub.ErrClientTaken, ahp.CodePermissionDenied},
	{errSockets, ahp.CodePermissionDenied},
	{access.ErrUsedUp, ahp.CodePermissionDenied},
	{access.ErrWrongToken, ahp.CodePermissionDenied},
	{hub.ErrUnknownChannel, ahp.CodeNotFound},
	{hub.ErrChannelExists, ahp.CodeAlreadyExists},
	{hub.ErrReadOnly, ahp.CodeInternalError},
	{context.Canceled, ahp.CodeInternalError},
}

// closes maps the reasons of a socket's end to the code of the closing frame.
var closes = []struct {
	err  error
	code websocket.StatusCode
}{
	{errShutdown, websocket.StatusGoingAway},
	{hub.ErrSlow, websocket.StatusTryAgainLater},
	{errBacklog, websocket.StatusTryAgainLater},
	{errFrames, websocket.StatusTryAgainLater},
	{errAnswers, websocket.StatusTryAgainLater},
	{errLate, websocket.StatusTryAgainLater},
	{hub.ErrReplaced, 4000}, // a code of our own: do not reconnect
	{errEvicted, 4000},
	{errBroken, websocket.StatusInternalError},
	{errVersion, websocket.StatusPolicyViolation},
	{errIdle, websocket.StatusPolicyViolation},
	{errBinary, websocket.StatusUnsupportedData},
}

// wireError converts an error for the client. An error outside of the tables is logged, and the
// client gets an id to ask about.
func (s *socket) wireError(method string, err error) *jsonrpc.Error {
	var e *ahp.Error
	if errors.As(err, &e) {
		return &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: s.errorData(e)}
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return &jsonrpc.Error{Code: k.code, Message: err.Error()}
		}
	}
	internal := s.internal(method, "err", err)
	if why, ok := errors.AsType[interface {
		error
		Reason() string
	}](err); ok { // describes the disk's problem and its remedy
		internal.Message = why.Reason()
	}
	return internal
}

func (s *socket) errorData(e *ahp.Error) json.RawMessage {
	if e.Data == nil {
		return nil
	}
	b, err := ahp.Marshal(e.Data)
	if err != nil {
		s.log.Error("the data of an error cannot be encoded", "code", e.Code, "err", err)
		return nil
	}
	return b
}

// internal logs a cause under an id and returns the error for the client.
func (s *socket) internal(method string, cause ...any) *jsonrpc.Error {
	id := ids.NewShort()
	s.log.Error("internal error", append([]any{"id", id, "method", method}, cause...)...)
	data, _ := json.Marshal(map[string]string{"id": id}) // a map of strings always encodes
	return &jsonrpc.Error{Code: ahp.CodeInternalError, Message: "internal error (id " + id + ")", Data: data}
}

// closing returns the closing frame for a socket's end.
func closing(err error) (websocket.StatusCode, string) {
	for _, c := range closes {
		if errors.Is(err, c.err) {
			return c.code, c.err.Error()
		}
	}
	return websocket.StatusNormalClosure, ""
}
