package jsonrpc

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Limits bounds what Decode accepts; zero fields take the default.
type Limits struct {
	Bytes  int // of one message: 16 MiB
	Depth  int // of nested arrays and objects: 128
	Values int // members and elements in total: 100 000; each takes many times its bytes when decoded
}

const (
	defaultBytes  = 16 << 20
	defaultDepth  = 128
	defaultValues = 100_000
	maxID         = 256 // bytes of an id
)

// Decode decodes one message. Bytes that are not UTF-8 are refused wherever they are: open values
// are kept as they were sent, and a browser closes a socket that delivers one. On an error the
// Message may still hold the ID that the answer must name.
func Decode(b []byte, l Limits) (Message, *Error) {
	if limit := or(l.Bytes, defaultBytes); len(b) > limit {
		return Message{}, errorf(CodeInvalidRequest, "a message of %d bytes is over the limit of %d", len(b), limit)
	}
	deepest, values := shape(b)
	if limit := or(l.Depth, defaultDepth); deepest > limit {
		return Message{}, errorf(CodeInvalidRequest, "a message nested deeper than %d levels", limit)
	}
	if limit := or(l.Values, defaultValues); values > limit {
		return Message{}, errorf(CodeInvalidRequest, "a message of %d values is over the limit of %d", values, limit)
	}
	switch first := firstByte(b); {
	case !utf8.Valid(b):
		return Message{}, errorf(CodeParse, "byte %d of the message is not valid UTF-8", invalidByte(b))
	case !json.Valid(b):
		return Message{}, errorf(CodeParse, "this is not JSON")
	case first == '[':
		return Message{}, errorf(CodeInvalidRequest, "batches are not supported: send one message a frame")
	case first != '{':
		return Message{}, errorf(CodeInvalidRequest, "a message must be an object")
	}
	return decodeObject(b)
}

func decodeObject(b []byte) (m Message, e *Error) {
	var fields map[string]json.RawMessage // not a struct: encoding/json would take "ID" for "id"
	if json.Unmarshal(b, &fields) != nil {
		return m, errorf(CodeParse, "this is not JSON")
	}
	if m.ID, e = decodeID(fields["id"]); e != nil {
		return m, e
	}
	if string(fields["jsonrpc"]) != `"2.0"` {
		return m, errorf(CodeInvalidRequest, `"jsonrpc" must be "2.0"`)
	}
	if method, ok := fields["method"]; ok {
		return m, m.decodeCall(method, fields)
	}
	return m, m.decodeResponse(fields)
}

func decodeID(raw json.RawMessage) (ID, *Error) {
	switch {
	case raw == nil:
		return "", nil
	case len(raw) > maxID:
		return "", errorf(CodeInvalidRequest, "an id of %d bytes is over the limit of %d", len(raw), maxID)
	case raw[0] == '"', raw[0] == '-', raw[0] >= '0' && raw[0] <= '9':
		return ID(raw), nil
	case string(raw) == "null":
		return nullID, nil
	}
	return "", errorf(CodeInvalidRequest, "an id must be a number or a string")
}

// nullID is the id of an error whose request could not be read.
const nullID ID = "null"

func (m *Message) decodeCall(method json.RawMessage, fields map[string]json.RawMessage) *Error {
	if m.ID == nullID {
		m.ID = ""
		return errorf(CodeInvalidRequest, "an id must be a number or a string")
	}
	if json.Unmarshal(method, &m.Method) != nil || m.Method == "" {
		m.Method = ""
		return errorf(CodeInvalidRequest, `"method" must be a string`)
	}
	if fields["result"] != nil || fields["error"] != nil {
		m.Method = ""
		return errorf(CodeInvalidRequest, "a message is either a call or a response")
	}
	if p := fields["params"]; p != nil {
		if p[0] != '{' && p[0] != '[' {
			m.Method = ""
			return errorf(CodeInvalidRequest, `"params" must be an object or an array`)
		}
		m.Params = p
	}
	return nil
}

func (m *Message) decodeResponse(fields map[string]json.RawMessage) *Error {
	result, isResult := fields["result"]
	failure, isError := fields["error"]
	switch {
	case m.ID == "" || isResult == isError:
		return errorf(CodeInvalidRequest, "a message needs a method, or an id with either a result or an error")
	case isResult && m.ID == nullID:
		return errorf(CodeInvalidRequest, "a result needs the id of its request")
	case isResult:
		m.Result = result
		return nil
	}
	if m.ID == nullID {
		m.ID = ""
	}
	if failure[0] != '{' || json.Unmarshal(failure, &m.Error) != nil {
		m.Error = nil
		return errorf(CodeInvalidRequest, `"error" must be an object with a code and a message`)
	}
	return nil
}

// shape returns the nesting depth of arrays and objects, and the number of their values, without a
// stack, so that a hostile message costs nothing.
func shape(b []byte) (deepest, values int) {
	now, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}', c == ']':
			now--
		case c == ',':
			values++
		}
	}
	return deepest, values
}

// invalidByte returns the index of the first byte that belongs to no character.
func invalidByte(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

func firstByte(b []byte) byte {
	if b = bytes.TrimLeft(b, " \t\r\n"); len(b) > 0 {
		return b[0]
	}
	return 0
}

func or(v, otherwise int) int {
	if v == 0 {
		return otherwise
	}
	return v
}
