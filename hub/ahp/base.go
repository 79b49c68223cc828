package ahp

import (
	"bytes"
	"encoding/json"
)

// URI names a channel or a resource. It is opaque: its kind comes from the host's registry, never from its scheme.
type URI = string

// RootURI is the one channel that always exists.
const RootURI URI = "ahp-root://"

// AutomationsURI is the channel of the automation catalogue.
const AutomationsURI URI = "ahp-automations://"

// Version is the protocol version this package models.
const Version = "1.0.0"

// Meta holds values the protocol leaves open. They are kept as sent, so large integers and unknown keys survive.
type Meta = map[string]json.RawMessage

// Ptr returns a pointer to v, for optional fields in literals.
func Ptr[T any](v T) *T { return &v }

// SessionStatus is a set of bits: what a session or chat is doing (the low five, exclusive) and its flags.
// Unknown bits survive.
type SessionStatus int64

// The values of SessionStatus. InputNeeded includes the InProgress bit: a turn that waits is still running.
const (
	SessionStatusIdle        SessionStatus = 1
	SessionStatusError       SessionStatus = 2
	SessionStatusInProgress  SessionStatus = 8
	SessionStatusInputNeeded SessionStatus = 24
	SessionStatusIsRead      SessionStatus = 32
	SessionStatusIsArchived  SessionStatus = 64

	statusActivityMask SessionStatus = 31
)

// Activity returns the activity bits alone: Idle, Error, InProgress or InputNeeded.
func (s SessionStatus) Activity() SessionStatus { return s & statusActivityMask }

// Has reports whether all bits of flag are set.
func (s SessionStatus) Has(flag SessionStatus) bool { return s&flag == flag }

// WithActivity replaces the activity bits and keeps the flags.
func (s SessionStatus) WithActivity(a SessionStatus) SessionStatus {
	return s&^statusActivityMask | a&statusActivityMask
}

// With sets or clears the bits of flag.
func (s SessionStatus) With(flag SessionStatus, on bool) SessionStatus {
	if on {
		return s | flag
	}
	return s &^ flag
}

// UnknownVariant is a variant of a union this version does not know. It is written back as it was read.
type UnknownVariant struct{ Raw json.RawMessage }

// MarshalJSON writes the variant as it was read.
func (u UnknownVariant) MarshalJSON() ([]byte, error) { return rawOrNull(u.Raw), nil }

// UnmarshalJSON keeps a copy of b, well-formed.
func (u *UnknownVariant) UnmarshalJSON(b []byte) error {
	u.Raw = bytes.Clone(wellFormed(b))
	return nil
}

func rawOrNull(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return wellFormed(raw)
}

// StringOrMarkdown is a text for people: plain, or Markdown when Markdown is set.
type StringOrMarkdown struct {
	Text     string
	Markdown bool
}

// Plain returns text to be shown without formatting.
func Plain(text string) StringOrMarkdown { return StringOrMarkdown{Text: text} }

// Markdown returns text to be rendered as Markdown.
func Markdown(text string) StringOrMarkdown { return StringOrMarkdown{Text: text, Markdown: true} }

type markdownForm struct {
	Markdown string `json:"markdown"`
}

// MarshalJSON writes a string, or an object with the key markdown.
func (s StringOrMarkdown) MarshalJSON() ([]byte, error) { return Marshal(s) }

// UnmarshalJSON accepts both forms.
func (s *StringOrMarkdown) UnmarshalJSON(b []byte) error { return Unmarshal(b, s) }

// ToolInput is a tool's input: inline text, or a reference to content kept elsewhere.
type ToolInput struct {
	Text string
	Ref  *ContentRef // nil for inline text
}

// MarshalJSON writes a string or a content reference.
func (t ToolInput) MarshalJSON() ([]byte, error) { return Marshal(t) }

// UnmarshalJSON accepts both forms.
func (t *ToolInput) UnmarshalJSON(b []byte) error { return Unmarshal(b, t) }

// TerminalLifecycleState is the state of the process behind a terminal. The protocol has a union;
// one struct is simpler to use. A status this version does not know keeps the whole value.
type TerminalLifecycleState struct {
	Status   TerminalLifecycleStatus
	ExitCode *int64 // absent while running and when the process was killed by a signal
	unknown  string // the whole value, for an unknown status
}

type lifecycleForm struct {
	Status   TerminalLifecycleStatus `json:"status"`
	ExitCode *int64                  `json:"exitCode,omitempty"`
}

// MarshalJSON writes the wire form.
func (s TerminalLifecycleState) MarshalJSON() ([]byte, error) { return Marshal(s) }

// UnmarshalJSON reads the wire form.
func (s *TerminalLifecycleState) UnmarshalJSON(b []byte) error { return Unmarshal(b, s) }
