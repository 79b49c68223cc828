package jsonrpc

import (
	"encoding/json"
	"fmt"
)

// The codes of JSON-RPC 2.0 itself.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Error is the error of a response; it is also the error that Call returns and
// that Decode reports. Data is JSON, or nil.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

func errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// ID is the id of a request, kept as it was written: a number or a string. The zero ID means no id.
type ID string

// NumberID returns the id of a request that this end sends.
func NumberID(n int64) ID { return ID(fmt.Sprint(n)) }

// Message is one message. A request has an ID and a Method, a notification a Method only, a
// response an ID and either a Result or an Error. An error about an unreadable id has no ID.
type Message struct {
	ID     ID
	Method string
	Params json.RawMessage // an object or an array, or nil
	Result json.RawMessage
	Error  *Error
}

// IsRequest reports whether the message waits for a response.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != "" }

// IsResponse reports whether the message answers a request.
func (m *Message) IsResponse() bool { return m.Method == "" }
