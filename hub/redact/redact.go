// Package redact replaces known secrets in what programs print. It is pure.
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

// Least is the length of the shortest value that is looked for. Of shorter ones every other line would have one.
const Least = 6

// leastEncoded is the length from which encoded forms of a value are looked for.
const leastEncoded = 8

// leastLine is the length from which lines of a value of several lines are looked for one by one.
const leastLine = 16

// Secret is a value to hide, and the name that is shown in its place.
type Secret struct{ Name, Value string }

// Set hides secrets. A nil Set hides nothing. Its methods may be called from any goroutine.
type Set struct {
	secrets []Secret
	needles map[uint16][]needle // by their first two bytes, the longest first
	pairs   [1 << 10]uint64     // bits of the pairs that begin a needle
	firsts  [256]bool
	longest int
}

type needle struct{ text, shown []byte }

// New returns a Set; nil when there is nothing to hide.
func New(secrets []Secret) *Set {
	s := &Set{secrets: slices.Clone(secrets), needles: map[uint16][]needle{}}
	known := map[string]bool{}
	for _, one := range secrets {
		shown := []byte("[secret " + one.Name + "]")
		for _, form := range forms(one.Value) {
			if !known[form] {
				known[form] = true
				s.add(needle{[]byte(form), shown})
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

// Secrets returns what a Set hides, so that another computer can hide it too.
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
	s.longest = max(s.longest, len(n.text))
}

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

// forms returns the ways in which a value is written that are looked for.
func forms(value string) (list []string) {
	value = strings.TrimRight(value, "\r\n")
	if len(value) < Least {
		return nil
	}
	list = append(list, value, strings.ReplaceAll(strings.ReplaceAll(value, "\r\n", "\n"), "\n", "\r\n"))
	if len(value) >= leastEncoded {
		list = append(list, url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(url.QueryEscape(value), "+", "%20"),
			hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value))))
		list = append(list, base64Forms(value)...)
	}
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			line = strings.TrimSpace(line)
			if len(line) >= leastLine && !strings.HasPrefix(line, "-----") {
				list = append(list, line)
			}
		}
	}
	for range 2 { // a tool's input is JSON in a string of JSON
		for _, form := range list {
			list = append(list, quoted(form)...)
		}
	}
	return slices.DeleteFunc(list, func(form string) bool { return len(form) < Least })
}

// base64Forms returns what a value looks like within a longer text in base64: it begins at one of three places of a
// group of four characters. Characters that depend on its neighbours are left out.
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

// quoted returns how a text is written in a string of JSON, if that differs.
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

// has reports whether a text has a secret.
func has[T string | []byte](s *Set, text T) bool {
	for i := 0; i+1 < len(text); i++ {
		p := pair(text[i], text[i+1])
		if !s.begins(p) {
			continue
		}
		for _, n := range s.needles[p] {
			if end := i + len(n.text); end <= len(text) && string(text[i:end]) == string(n.text) {
				return true
			}
		}
	}
	return false
}

// begins reports whether a needle begins with a pair of bytes.
func (s *Set) begins(p uint16) bool { return s.pairs[p>>6]&(1<<(p&63)) != 0 }

// JSON returns an encoded JSON value without secrets in its strings; nil when there is none in them.
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
