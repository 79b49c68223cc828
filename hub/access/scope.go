package access

import (
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Scope is a part of a session: one chat, with its terminals, tool calls and what its turns changed; or one changeset,
// with the threads about its files. The zero value is the whole session.
type Scope struct {
	Kind ahp.ChannelKind `json:"kind"` // chat or changeset
	URI  ahp.URI         `json:"uri"`
}

// Whole reports whether the scope is the whole session.
func (s Scope) Whole() bool { return s == Scope{} }

// Chat reports whether the scope is one chat.
func (s Scope) Chat() bool { return s.Kind == ahp.ChannelChat }

// Changeset reports whether the scope is one changeset.
func (s Scope) Changeset() bool { return s.Kind == ahp.ChannelChangeset }

func (s Scope) check() error {
	if s.Whole() || s.URI != "" && (s.Chat() || s.Changeset()) {
		return nil
	}
	return fmt.Errorf("a link is for a session, one of its chats or one of its changesets, and not for a %q", s.Kind)
}

// holds reports whether a channel of the session lies in the scope. The session itself and its annotations do, cut down to
// what concerns it.
func (s Scope) holds(ch hub.ChannelInfo) bool {
	switch {
	case s.Whole(), ch.URI == s.URI, ch.Kind == ahp.ChannelSession, ch.Kind == ahp.ChannelAnnotations:
		return true
	}
	return s.Chat() && ch.Chat == s.URI
}

// writes reports whether something other than reading may be allowed on a channel: what is cut down is written whole, so
// the session's own settings are out of reach from a part of it.
func (s Scope) writes(ch hub.ChannelInfo) bool { return s.Whole() || ch.Kind != ahp.ChannelSession }

// scopes says for which scopes, besides a whole session, something is there.
type scopes uint8

const (
	inChat scopes = 1 << iota
	inChangeset
)

func (s Scope) in(where scopes) bool {
	return s.Whole() || s.Chat() && where&inChat != 0 || s.Changeset() && where&inChangeset != 0
}
