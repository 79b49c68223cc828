package access

import (
	"fmt"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Scope is a part of a session: one chat with its terminals, its tool calls and the changes of its
// turns, or one changeset with the threads about its files. The zero value is the whole session.
type Scope struct {
	Kind ahp.ChannelKind `json:"kind"` // chat or changeset
	URI  ahp.URI         `json:"uri"`
}

// IsWhole reports whether the scope is the whole session.
func (s Scope) IsWhole() bool { return s == Scope{} }

// IsChat reports whether the scope is one chat.
func (s Scope) IsChat() bool { return s.Kind == ahp.ChannelChat }

// IsChangeset reports whether the scope is one changeset.
func (s Scope) IsChangeset() bool { return s.Kind == ahp.ChannelChangeset }

func (s Scope) check() error {
	if s.IsWhole() || s.URI != "" && (s.IsChat() || s.IsChangeset()) {
		return nil
	}
	return fmt.Errorf("a link can share a session, one of its chats or one of its changesets, but not a %q", s.Kind)
}

// contains reports whether a channel of the session is in the scope. The session and its
// annotations are, reduced to what concerns the scope.
func (s Scope) contains(ch hub.ChannelInfo) bool {
	switch {
	case s.IsWhole(), ch.URI == s.URI, ch.Kind == ahp.ChannelSession, ch.Kind == ahp.ChannelAnnotations:
		return true
	}
	return s.IsChat() && ch.Chat == s.URI
}

// allowsWrites reports whether rights other than reading can apply to a channel. The session
// channel is shown cut down but would be written whole, so a part of a session cannot change the
// session's settings.
func (s Scope) allowsWrites(ch hub.ChannelInfo) bool {
	return s.IsWhole() || ch.Kind != ahp.ChannelSession
}

// scopes is a set of the partial scopes to which something is open.
type scopes uint8

const (
	inChat scopes = 1 << iota
	inChangeset
)

func (s Scope) isIn(where scopes) bool {
	return s.IsWhole() || s.IsChat() && where&inChat != 0 || s.IsChangeset() && where&inChangeset != 0
}
