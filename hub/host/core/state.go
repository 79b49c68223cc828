package core

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Limits of values that clients choose, in bytes.
const (
	MaxTitle = 200
	MaxURI   = 512
)

// ConfigValue returns the value of a session's setting: the text of a string, the JSON of anything
// else.
func ConfigValue(s *ahp.SessionState, key string) string {
	if s.Config == nil {
		return ""
	}
	raw := s.Config.Values[key]
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// CloneMeta returns a copy of m that is never nil.
func CloneMeta(m ahp.Meta) ahp.Meta {
	if m == nil {
		return ahp.Meta{}
	}
	return maps.Clone(m)
}

// LastTurn returns the newest ended turn of a chat, or nil.
func LastTurn(s *ahp.ChatState) *ahp.Turn {
	if len(s.Turns) == 0 {
		return nil
	}
	return s.Turns[len(s.Turns)-1]
}

// HasTurn reports whether a chat has an ended or running turn with this id.
func HasTurn(s *ahp.ChatState, id string) bool {
	return TurnIndex(s, id) >= 0 || s.ActiveTurn != nil && s.ActiveTurn.ID == id
}

// TurnIndex returns the index of an ended turn in its chat, or -1.
func TurnIndex(s *ahp.ChatState, id string) int {
	return slices.IndexFunc(s.Turns, func(t *ahp.Turn) bool { return t.ID == id })
}

// Elapsed returns how long a turn has run, in milliseconds, or 0 if the clock was set back.
func Elapsed(t *ahp.ActiveTurn, now time.Time) int64 {
	began, err := time.Parse(time.RFC3339, t.StartedAt)
	if err != nil {
		return 0
	}
	return max(0, now.Sub(began).Milliseconds())
}

// MessageBytes returns the size of a message: its text and the content of its attachments.
func MessageBytes(m *ahp.Message) int {
	n := len(m.Text)
	for _, a := range m.Attachments {
		switch v := a.Value.(type) {
		case *ahp.MessageEmbeddedResourceAttachment:
			n += len(v.Data)
		case *ahp.SimpleMessageAttachment:
			n += len(v.ModelRepresentation)
		case *ahp.UnknownVariant:
			n += len(v.Raw)
		}
	}
	return n
}
