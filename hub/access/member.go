package access

import (
	"errors"
	"fmt"
	"time"
)

// Member is a person with an account from the owner. It has no name until the invitation is
// accepted.
type Member struct {
	ID      string    `json:"id"` // principal id: "person:…"
	Name    string    `json:"name,omitempty"`
	For     string    `json:"for,omitempty"` // the intended person, as the owner described them
	Role    Role      `json:"role"`          // member: sessions that links open; other roles: every session
	Prompt  bool      `json:"prompt,omitempty"`
	Approve bool      `json:"approve,omitempty"`
	Guests  bool      `json:"guests,omitempty"`
	Type    bool      `json:"type,omitempty"`
	Made    time.Time `json:"made"`
	Joined  time.Time `json:"joined,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // of the invitation
}

// IsInvited reports whether the invitation has not been accepted yet.
func (m Member) IsInvited() bool { return m.Joined.IsZero() }

// IsExpired reports whether the invitation can no longer be accepted.
func (m Member) IsExpired(now time.Time) bool { return m.IsInvited() && !now.Before(m.Expires) }

// Describe returns what the member may do, in words.
func (m Member) Describe() string {
	if m.Role == RoleMember {
		return "see the sessions shared with you"
	}
	return m.rights().Describe()
}

// rights returns a link with the same role and switches.
func (m Member) rights() Link {
	return Link{Role: m.Role, Prompt: m.Prompt, Approve: m.Approve, Guests: m.Guests, Type: m.Type}
}

func (m Member) check() error {
	if m.Role == RoleMember {
		if m.Prompt || m.Approve || m.Guests || m.Type {
			return errors.New("a member has no extra permissions. Choose the role driver")
		}
		return nil
	}
	if _, err := ParseRole(string(m.Role)); err != nil {
		return fmt.Errorf("a person cannot have the role %q. Use member, viewer, commenter or driver", m.Role)
	}
	return m.rights().checkRole()
}

func (m Member) principal() Principal {
	return Principal{ID: m.ID, Name: m.Name, Role: m.Role, Host: m.Role != RoleMember,
		Prompt: m.Prompt, Approve: m.Approve, Guests: m.Guests, Type: m.Type}
}
