package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Link lets people into one session, or a part of it. Its token is known to those who were given it; the
// host keeps a hash.
type Link struct {
	ID        string    `json:"id"`
	Session   ahp.URI   `json:"session"`
	Scope     Scope     `json:"scope,omitzero"` // the part of the session; zero: all of it
	Role      Role      `json:"role"`
	Label     string    `json:"label,omitempty"`
	CreatedBy string    `json:"createdBy"` // principal id
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires,omitzero"` // zero: never
	Revoked   time.Time `json:"revoked,omitzero"`
	MaxUses   int       `json:"maxUses,omitempty"` // people and AHP clients it lets in; 0: as many as a link can
	SignIn    bool      `json:"signIn,omitempty"`  // people sign in to an account first, and come under its name
	Prompt    bool      `json:"prompt,omitempty"`
	Approve   bool      `json:"approve,omitempty"`
	Type      bool      `json:"type,omitempty"`
	Guests    bool      `json:"guests,omitempty"`
	AllFiles  bool      `json:"allFiles,omitempty"` // also those that git does not track and the session did not change
	Uses      []Use     `json:"-"`                  // who came by it, oldest first
}

// Use is one guest who came by a link: somebody in a browser, or an AHP client.
type Use struct {
	Guest  string    `json:"guest"` // principal id
	Name   string    `json:"name"`
	Client string    `json:"client,omitempty"` // clientId of an AHP client
	At     time.Time `json:"at"`
}

// checkRole reports whether a link can have its role with its switches.
func (l Link) checkRole() error {
	switch l.Role {
	case RoleViewer, RoleCommenter:
		if l.Prompt || l.Approve || l.Type || l.Guests {
			return fmt.Errorf("a %s neither prompts nor approves nor types: make the link for a driver", l.Role)
		}
	case RoleDriver:
		if !l.Prompt && !l.Approve && !l.Type {
			return errors.New("a driver needs something to drive: allow prompting, approving or typing")
		}
		if l.Guests && !l.Approve {
			return errors.New("only a driver who approves can approve what guests ask for: allow approving too")
		}
	default:
		return fmt.Errorf("%q is no role a link can have: use viewer, commenter or driver", l.Role)
	}
	return nil
}

// May is what the link allows, in words for whoever comes by it, as in "read, comment".
func (l Link) May() string {
	can := []string{"read " + l.what() + " live"}
	for _, c := range []struct {
		on   bool
		word string
	}{{l.Role != RoleViewer, "comment"}, {l.Role != RoleViewer, "mark files reviewed"}, {l.Prompt, "write to the agent"},
		{l.Approve && !l.Guests, "approve what the owner asked for"}, {l.Guests, "approve what the agent wants to do"}, {l.Type, "type in terminals"}} {
		if c.on {
			can = append(can, c.word)
		}
	}
	if len(can) == 1 {
		return can[0] + " and write nothing"
	}
	return strings.Join(can[:len(can)-1], ", ") + " and " + can[len(can)-1]
}

// what is read: everything of the session, or a part of it.
func (l Link) what() string {
	switch {
	case l.Scope.Chat():
		return "one chat"
	case l.Scope.Changeset():
		return "its files"
	case l.AllFiles:
		return "everything, all files included,"
	}
	return "everything"
}

// checkScope reports whether what a role allows is there in the scope at all.
func (l Link) checkScope() error {
	if err := l.Scope.check(); err != nil {
		return err
	}
	if l.AllFiles && !l.Scope.Whole() {
		return errors.New("only a link for the whole session can show all files: choose the whole session")
	}
	if l.Scope.Changeset() && l.Role == RoleDriver {
		return errors.New("there is nothing to drive in changes: make the link for a commenter, or for the chat")
	}
	return nil
}

// most is how many people and clients a link lets in.
func (l Link) most() int {
	if l.MaxUses > 0 {
		return min(l.MaxUses, mostUses)
	}
	return mostUses
}

// Live reports whether the link lets anybody in at that time.
func (l Link) Live(now time.Time) bool {
	return l.Revoked.IsZero() && (l.Expires.IsZero() || now.Before(l.Expires))
}

func (l Link) principal(id, name string) Principal {
	return Principal{ID: id, Name: name, Role: l.Role, Session: l.Session, Scope: l.Scope, Link: l.ID,
		Prompt: l.Prompt, Approve: l.Approve, Type: l.Type, Guests: l.Guests, AllFiles: l.AllFiles}
}

// Store keeps documents; each call returns once it is durable.
type Store interface {
	Put(ctx context.Context, bucket, key string, value []byte) error
	Add(ctx context.Context, bucket, key string, value []byte) error // fails when the key is taken
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}
