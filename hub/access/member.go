package access

import (
	"errors"
	"fmt"
	"time"
)

// Member is a person whom the owner gave an account. Until they took their invitation they have no name.
type Member struct {
	ID      string    `json:"id"` // principal id: "person:…"
	Name    string    `json:"name,omitempty"`
	For     string    `json:"for,omitempty"` // whom the owner meant it for
	Role    Role      `json:"role"`          // member: what links let them into; others: every session
	Prompt  bool      `json:"prompt,omitempty"`
	Approve bool      `json:"approve,omitempty"`
	Guests  bool      `json:"guests,omitempty"`
	Type    bool      `json:"type,omitempty"`
	Made    time.Time `json:"made"`
	Joined  time.Time `json:"joined,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // of the invitation
}

// Invited reports whether somebody has not come yet.
func (m Member) Invited() bool { return m.Joined.IsZero() }

// Expired reports whether nobody can come by the invitation any more.
func (m Member) Expired(now time.Time) bool { return m.Invited() && !now.Before(m.Expires) }

// May is what they may do, in words.
func (m Member) May() string {
	if m.Role == RoleMember {
		return "see what links let them into"
	}
	return m.rights().May()
}

// rights is a link with the same role and switches.
func (m Member) rights() Link {
	return Link{Role: m.Role, Prompt: m.Prompt, Approve: m.Approve, Guests: m.Guests, Type: m.Type}
}

func (m Member) check() error {
	if m.Role == RoleMember {
		if m.Prompt || m.Approve || m.Guests || m.Type {
			return errors.New("a member has no switches: make them a driver")
		}
		return nil
	}
	if _, err := ParseRole(string(m.Role)); err != nil {
		return fmt.Errorf("%q is no role a person can have: use member, viewer, commenter or driver", m.Role)
	}
	return m.rights().checkRole()
}

func (m Member) principal() Principal {
	return Principal{ID: m.ID, Name: m.Name, Role: m.Role, Host: m.Role != RoleMember,
		Prompt: m.Prompt, Approve: m.Approve, Guests: m.Guests, Type: m.Type}
}
