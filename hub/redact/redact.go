// Package redact replaces known secrets in the output of programs. It is pure.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Least is the minimum length of a secret. Shorter values would match in most lines.
const Least = 6

// leastEncoded is the minimum length of a value whose encoded forms are searched.
const leastEncoded = 8

// leastLine is the minimum length of the lines of a multi-line value that are searched separately.
const leastLine = 16

// Secret is a value to hide, and the name shown instead.
type Secret struct{ Name, Value string }

// Set hides secrets. A nil Set hides nothing. Its methods may be called from any goroutine.
type Set struct {
	secrets []Secret
	needles map[uint16][]needle // by their first two bytes, longest first
	pairs   [1 << 10]uint64     // bits of the pairs that start a needle
	firsts  [256]bool
}

type needle struct {
	text, shown []byte
	wrapped     bool // tools may wrap it anywhere, as they do with base64
}

// New returns a Set; nil if there is nothing to hide.
func New(secrets []Secret) *Set {
	s := &Set{secrets: slices.Clone(secrets), needles: map[uint16][]needle{}}
	known := map[string]bool{}
	for _, one := range secrets {
		shown := []byte("[secret " + one.Name + "]")
		for _, form := range forms(one.Value) {
			if !known[form] {
				known[form] = true
				s.add(needle{text: []byte(form), shown: shown})
			}
		}
		for _, form := range wrappedForms(one.Value) {
			if !known[form] {
				known[form] = true
				s.add(needle{text: []byte(form), shown: shown, wrapped: true})
			}
		}
	}
	if len(known) == 0 {
		return nil
	}
	for _, list := range s.needles {
		slices.SortStableFunc(list, func(a, b needle) int { return cmp.Compare(len(b.text), len(a.text)) })
	}
	return s
}

// Secrets returns the secrets of a Set, so that another computer can hide them too.
func (s *Set) Secrets() []Secret {
	if s == nil {
		return nil
	}
	return slices.Clone(s.secrets)
}

func (s *Set) add(n needle) {
	p := pair(n.text[0], n.text[1])
	s.needles[p] = append(s.needles[p], n)
	s.pairs[p>>6] |= 1 << (p & 63)
	s.firsts[n.text[0]] = true
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

// forms returns the forms of a value to search.
func forms(value string) (list []string) {
	value = strings.TrimRight(value, "\r\n")
	if len(value) < Least {
		return nil
	}
	list = append(list, value, strings.ReplaceAll(strings.ReplaceAll(value, "\r\n", "\n"), "\n", "\r\n"))
	if len(value) >= leastEncoded {
		list = append(list, url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
			hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))))
	}
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			line = strings.TrimSpace(line)
			if len(line) >= leastLine && !strings.HasPrefix(line, "-----") {
				list = append(list, line)
			}
		}
	}
	for range 2 { // a tool's input is JSON within a JSON string
		for _, form := range list {
			list = append(list, quoted(form)...)
		}
	}
	return slices.DeleteFunc(list, func(form string) bool { return len(form) < Least })
}

// wrappedForms returns the forms of a value that may contain line breaks. A break after the first
// character separates the pair that a form is indexed by, so each form also exists without that
// character.
func wrappedForms(value string) (list []string) {
	value = strings.TrimRight(value, "\r\n")
	if len(value) < leastEncoded {
		return nil
	}
	for _, form := range base64Forms(value) {
		list = append(list, form, form[1:])
	}
	return list
}

// find reports whether data starts with a needle, and how many bytes of data it takes; more is true
// if data is too short to decide.
func (n *needle) find(data []byte) (size int, more bool) {
	if !n.wrapped {
		if bytes.HasPrefix(data, n.text) {
			return len(n.text), false
		}
		return 0, bytes.HasPrefix(n.text, data)
	}
	at := 0
	for i, c := range n.text {
		if i > 0 && at < len(data) && data[at] != c {
			size, more := lineBreak(data[at:])
			if more {
				return 0, true
			}
			at += size
		}
		if at == len(data) {
			return 0, true
		}
		if data[at] != c {
			return 0, false
		}
		at++
	}
	return at, false
}

// lineBreak returns the length of a line break at the start of data, including its escaped forms in
// JSON; more is true if data is too short to decide. At most one break is skipped, so that the held
// bytes are bounded.
func lineBreak(data []byte) (size int, more bool) {
	for _, b := range lineBreaks {
		if bytes.HasPrefix(data, b) {
			return len(b), false
		}
		more = more || bytes.HasPrefix(b, data)
	}
	return 0, more
}

// mostBreak is the maximum size of a character with the preceding line break.
const mostBreak = 7

var lineBreaks = [][]byte{[]byte("\n"), []byte("\r\n"), []byte(`\n`), []byte(`\r\n`), []byte(`\\n`), []byte(`\\r\\n`)}

// base64Forms returns the forms of a value within a longer base64 text: it starts at one of three
// offsets in a group of four characters. Characters that depend on neighbouring text are left out.
func base64Forms(value string) (list []string) {
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := enc.EncodeToString(append(make([]byte, before), value...))
			first := (before*8 + 5) / 6
			last := (before + len(value)) * 8 / 6
			list = append(list, text[first:last])
		}
	}
	return list
}

// quoted returns the form of a text in a JSON string, if it differs.
func quoted(text string) (list []string) {
	b, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	escaped := string(b[1 : len(b)-1])
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	if e.Encode(text) == nil {
		list = append(list, strings.TrimSuffix(plain.String(), "\n")[1:plain.Len()-2])
	}
	if escaped != list[0] {
		list = append(list, escaped)
	}
	return slices.DeleteFunc(list, func(form string) bool { return form == text })
}

// String returns a text without its secrets.
func (s *Set) String(text string) string {
	if s == nil || !has(s, text) {
		return text
	}
	st := s.NewStream()
	return string(append(st.Write([]byte(text)), st.Close()...))
}

// has reports whether a text contains a secret.
func has[T string | []byte](s *Set, text T) bool {
	for i := 0; i+1 < len(text); i++ {
		p := pair(text[i], text[i+1])
		if !s.begins(p) {
			continue
		}
		for k := range s.needles[p] {
			n := &s.needles[p][k]
			if end := i + len(n.text); end <= len(text) && string(text[i:end]) == string(n.text) {
				return true
			}
			if n.wrapped {
				if size, _ := n.find([]byte(text[i:min(i+mostBreak*len(n.text), len(text))])); size > 0 {
					return true
				}
			}
		}
	}
	return false
}

// begins reports whether a needle starts with a pair of bytes.
func (s *Set) begins(p uint16) bool { return s.pairs[p>>6]&(1<<(p&63)) != 0 }

// JSON returns an encoded JSON value without secrets in its strings; nil if they contain none.
func (s *Set) JSON(raw []byte) ([]byte, error) {
	if s == nil || !has(s, raw) {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(s.value(v))
}

func (s *Set) value(v any) any {
	switch v := v.(type) {
	case string:
		return s.String(v)
	case []any:
		for i := range v {
			v[i] = s.value(v[i])
		}
	case map[string]any:
		for _, name := range slices.Collect(maps.Keys(v)) {
			one := s.value(v[name])
			delete(v, name)
			v[s.String(name)] = one
		}
	}
	return v
}
