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
	errShutdown = errors.New("the host is stopping: reconnect in a moment")
	errVersion  = errors.New("no protocol version in common")
	errBinary   = errors.New("send JSON-RPC in text frames")
	errIdle     = errors.New("nothing was said: initialize or reconnect first")
	errSockets  = errors.New("too many connections are open: close some of them, or try again later")
	errAnswers  = errors.New("too many answers as large as this one are on their way: ask again in a moment")
	errBacklog  = errors.New("too many answers wait to be read: reconnect to resume")
	errEvicted  = errors.New("this clientId belongs to another participant now: choose another one, such as a new UUID")
)

// known is the table of errors that are not the protocol's own: the code for
// the client, whose message is the error's.
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

// closes is the table of the ends of a socket: the code in the closing frame.
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
	{hub.ErrReplaced, 4000}, // a code of our own: do not come back
	{errEvicted, 4000},
	{errVersion, websocket.StatusPolicyViolation},
	{errIdle, websocket.StatusPolicyViolation},
	{errBinary, websocket.StatusUnsupportedData},
}

// wireError makes the error a client reads. What the tables do not name is
// between the host and its log: the client gets an id to ask about.
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
	}](err); ok { // what is wrong with the disk, and what to do
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

// internal logs a cause under an id and returns what may be said of it.
func (s *socket) internal(method string, cause ...any) *jsonrpc.Error {
	id := ids.NewShort()
	s.log.Error("internal error", append([]any{"id", id, "method", method}, cause...)...)
	data, _ := json.Marshal(map[string]string{"id": id}) // a map of strings always encodes
	return &jsonrpc.Error{Code: ahp.CodeInternalError, Message: "internal error (id " + id + ")", Data: data}
}

// closing returns the closing frame for the end of a socket.
func closing(err error) (websocket.StatusCode, string) {
	for _, c := range closes {
		if errors.Is(err, c.err) {
			return c.code, c.err.Error()
		}
	}
	return websocket.StatusNormalClosure, ""
}
