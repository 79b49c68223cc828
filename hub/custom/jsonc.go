package custom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ahphub/ahphub/hub/texts"
)

// member is a member of a JSON object, with the line of its name.
type member struct {
	name string
	raw  json.RawMessage
	line int
}

// members lists the members of an object in order. It allows comments and trailing commas, as
// editors do.
func members(data []byte) ([]member, error) {
	data = withoutComments(data)
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, notJSON(err, "it is no JSON object")
	}
	var out []member
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return out, notJSON(err, "a name is missing")
		}
		m := member{name: name, line: 1 + bytes.Count(data[:dec.InputOffset()], []byte("\n"))}
		if err := dec.Decode(&m.raw); err != nil {
			return out, notJSON(err, "")
		}
		out = append(out, m)
	}
	_, err := dec.Token()
	return out, notJSON(err, "")
}

func notJSON(err error, otherwise string) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is no JSON: it ends in the middle")
	case err != nil:
		return fmt.Errorf("it is no JSON: %s", texts.ElideBytes(texts.OneLine(err.Error()), 150))
	case otherwise != "":
		return errors.New(otherwise)
	}
	return nil
}

// inside lists the members of the object at the top-level member name; nil without it. Lines count
// from the start of the file.
func inside(data []byte, name string) ([]member, error) {
	all, err := members(data)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.name != name {
			continue
		}
		list, err := members(m.raw)
		begin := m.line
		if at := bytes.Index(withoutComments(data), m.raw); at >= 0 {
			begin = 1 + bytes.Count(data[:at], []byte("\n"))
		}
		for i := range list {
			list[i].line += begin - 1
		}
		return list, err
	}
	return nil, nil
}

// withoutComments replaces comments and trailing commas by spaces, so that every other byte keeps
// its offset.
func withoutComments(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i = endOfString(out, i)
			comma = -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out
}

func endOfString(b []byte, i int) int {
	for i++; i < len(b) && b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i
}

// blankComment replaces the comment at i by spaces and returns the index of its last byte.
func blankComment(b []byte, i int) int {
	end := len(b)
	if b[i+1] == '/' {
		if n := bytes.IndexByte(b[i:], '\n'); n >= 0 {
			end = i + n
		}
	} else if n := bytes.Index(b[i+2:], []byte("*/")); n >= 0 {
		end = i + n + 4
	}
	for j := i; j < end; j++ {
		if b[j] != '\n' {
			b[j] = ' '
		}
	}
	return end - 1
}
