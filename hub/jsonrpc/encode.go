package jsonrpc

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// AppendRequest appends a request. Params are JSON, or nil for none.
func AppendRequest(b []byte, id ID, method string, params []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(append(b, id...), ',')
	return appendCall(b, method, params)
}

// AppendNotification appends a notification.
func AppendNotification(b []byte, method string, params []byte) []byte {
	return appendCall(append(b, `{"jsonrpc":"2.0",`...), method, params)
}

func appendCall(b []byte, method string, params []byte) []byte {
	b = appendString(append(b, `"method":`...), method)
	if params != nil {
		b = append(append(b, `,"params":`...), validUTF8(params)...)
	}
	return append(b, '}')
}

// AppendResult appends the response to a request; a nil result is null.
func AppendResult(b []byte, id ID, result []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(append(b, id...), `,"result":`...)
	if result == nil {
		b = append(b, "null"...)
	}
	return append(append(b, validUTF8(result)...), '}')
}

// AppendError appends the error response to a request. Without an ID, the id is null: the request
// could not be read.
func AppendError(b []byte, id ID, e *Error) []byte {
	if id == "" {
		id = nullID
	}
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(append(b, id...), `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(e.Code), 10)
	b = appendString(append(b, `,"message":`...), e.Message)
	if e.Data != nil {
		b = append(append(b, `,"data":`...), validUTF8(e.Data)...)
	}
	return append(b, "}}"...)
}

// Append appends any message.
func (m *Message) Append(b []byte) []byte {
	switch {
	case m.IsRequest():
		return AppendRequest(b, m.ID, m.Method, m.Params)
	case m.Method != "":
		return AppendNotification(b, m.Method, m.Params)
	case m.Error != nil:
		return AppendError(b, m.ID, m.Error)
	}
	return AppendResult(b, m.ID, m.Result)
}

// validUTF8 returns b with bytes that are not UTF-8 replaced by U+FFFD: a frame must not have any.
func validUTF8(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}

func appendString(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string always encodes
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}
