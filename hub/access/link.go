package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Link gives access to a session or a part of it. The host keeps only a hash of its token.
type Link struct {
	ID        string    `json:"id"`
	Session   ahp.URI   `json:"session"`
	Scope     Scope     `json:"scope,omitzero"` // the part of the session; the zero value is all of it
	Role      Role      `json:"role"`
	Label     string    `json:"label,omitempty"`
	CreatedBy string    `json:"createdBy"` // principal id
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires,omitzero"` // zero: never
	Revoked   time.Time `json:"revoked,omitzero"`
	// the most people and AHP clients it admits; 0: the largest number possible
	MaxUses int  `json:"maxUses,omitempty"`
	SignIn  bool `json:"signIn,omitempty"` // people must sign in to an account, and appear under its name
	Prompt  bool `json:"prompt,omitempty"`
	Approve bool `json:"approve,omitempty"`
	Type    bool `json:"type,omitempty"`
	Guests  bool `json:"guests,omitempty"`
	// also show files that are untracked by git and not changed by the session
	AllFiles bool  `json:"allFiles,omitempty"`
	Uses     []Use `json:"-"` // oldest first
}

// Use records one guest of a link: a person in a browser, or an AHP client.
type Use struct {
	Guest  string    `json:"guest"` // principal id
	Name   string    `json:"name"`
	Client string    `json:"client,omitempty"` // clientId of an AHP client
	At     time.Time `json:"at"`
}

// checkRole checks that the link's role fits its switches.
func (l Link) checkRole() error {
	switch l.Role {
	case RoleViewer, RoleCommenter:
		if l.Prompt || l.Approve || l.Type || l.Guests {
			return fmt.Errorf("a %s cannot prompt, approve or type. Choose the role driver", l.Role)
		}
	case RoleDriver:
		if !l.Prompt && !l.Approve && !l.Type {
			return errors.New("a driver needs at least one permission. Allow prompting, approving or typing")
		}
		if l.Guests && !l.Approve {
			return errors.New("only a driver who may approve can approve for guests. Allow approving too")
		}
	default:
		return fmt.Errorf("a link cannot have the role %q. Use viewer, commenter or driver", l.Role)
	}
	return nil
}

// Describe returns what the link allows, in words for its guests, as in "follow along live and
// comment".
func (l Link) Describe() string {
	can := []string{l.describeScope()}
	for _, c := range []struct {
		on   bool
		word string
	}{{l.Role != RoleViewer, "comment"}, {l.Role != RoleViewer, "mark files as reviewed"},
		{l.Prompt, "message the agent"},
		{l.Approve && !l.Guests, "approve the owner's requests"}, {l.Guests, "approve anyone's requests"},
		{l.Type, "type in terminals"}} {
		if c.on {
			can = append(can, c.word)
		}
	}
	if len(can) == 1 {
		return can[0]
	}
	if len(can) == 2 {
		return can[0] + " and " + can[1]
	}
	return strings.Join(can[:len(can)-1], ", ") + ", and " + can[len(can)-1]
}

// describeScope returns what guests of the link can follow.
func (l Link) describeScope() string {
	switch {
	case l.Scope.IsChat():
		return "follow the chat live"
	case l.Scope.IsChangeset():
		return "follow these changes live"
	case l.AllFiles:
		return "follow along live, see all files"
	}
	return "follow along live"
}

// checkScope checks that the scope offers what the role allows.
func (l Link) checkScope() error {
	if err := l.Scope.check(); err != nil {
		return err
	}
	if l.AllFiles && !l.Scope.IsWhole() {
		return errors.New("only a link for the whole session can show all files. Choose the whole session")
	}
	if l.Scope.IsChangeset() && l.Role == RoleDriver {
		return errors.New("a link for changes cannot have the role driver. Choose commenter, or share the chat")
	}
	return nil
}

// maxUses returns how many people and clients the link admits.
func (l Link) maxUses() int {
	if l.MaxUses > 0 {
		return min(l.MaxUses, maxUsesKept)
	}
	return maxUsesKept
}

// IsLive reports whether the link admits guests at the time now.
func (l Link) IsLive(now time.Time) bool {
	return l.Revoked.IsZero() && (l.Expires.IsZero() || now.Before(l.Expires))
}

func (l Link) principal(id, name string) Principal {
	return Principal{ID: id, Name: name, Role: l.Role, Session: l.Session, Scope: l.Scope, Link: l.ID,
		Prompt: l.Prompt, Approve: l.Approve, Type: l.Type, Guests: l.Guests, AllFiles: l.AllFiles}
}

// Store keeps documents. Each call returns once the document is durable.
type Store interface {
	Put(ctx context.Context, bucket, key string, value []byte) error
	Delete(ctx context.Context, bucket, key string) error
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}
