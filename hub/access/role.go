package access

import (
	"fmt"
	"slices"
	"strings"
)

// Role is the role a principal was admitted with.
type Role string

// The roles. A guest has the role of their link.
const (
	RoleOwner     Role = "owner"     // everything
	RoleViewer    Role = "viewer"    // reads
	RoleCommenter Role = "commenter" // and comments, and marks files reviewed
	RoleDriver    Role = "driver"    // and prompts, approves and types, each by its switch
	RoleMember    Role = "member"    // has an account, and sees what links open to them
	RoleAgent     Role = "agent"     // a session's agent, not a person: reads, comments and resolves there
)

// Right is a kind of access. The tables map every action, method and route to one.
type Right string

// The rights.
const (
	RightRead    Right = "read"
	RightComment Right = "comment" // start threads, reply, resolve
	RightReview  Right = "review"  // mark files reviewed
	RightPrompt  Right = "prompt"  // send prompts to the agent
	RightApprove Right = "approve" // approve tool calls
	RightType    Right = "type"    // terminal input
	RightAccount Right = "account" // manage one's own sign-in methods and tokens
	RightManage  Right = "manage"  // settings, sessions, files, links: the owner

	rightHost Right = "host" // the host itself; no principal has it
)

// roleRights lists the rights that each role has without a switch.
var roleRights = map[Role][]Right{
	RoleOwner: {RightRead, RightComment, RightReview, RightPrompt, RightApprove, RightType, RightAccount,
		RightManage},
	RoleMember:    {RightRead},
	RoleViewer:    {RightRead},
	RoleCommenter: {RightRead, RightComment, RightReview},
	RoleDriver:    {RightRead, RightComment, RightReview},
	RoleAgent:     {RightRead, RightComment},
}

// Has reports whether the principal has a right at all; the tables decide where it applies.
func (p Principal) Has(r Right) bool {
	if slices.Contains(roleRights[p.Role], r) {
		return true
	}
	if r == RightAccount {
		return p.HasAccount()
	}
	if p.Role != RoleDriver {
		return false
	}
	switch r {
	case RightPrompt:
		return p.Prompt
	case RightApprove:
		return p.Approve
	case RightType:
		return p.Type
	}
	return false
}

// ParseRole parses a link's role as a form sends it.
func ParseRole(s string) (Role, error) {
	r := Role(strings.ToLower(strings.TrimSpace(s)))
	if _, ok := roleRights[r]; !ok || r == RoleOwner || r == RoleAgent || r == RoleMember {
		return "", fmt.Errorf("a link cannot have the role %q. Use viewer, commenter or driver", s)
	}
	return r, nil
}

// Denied is a refusal by the tables. Its text is written for the refused principal.
type Denied struct {
	Need   Right
	Reason string
}

// Error returns the reason.
func (d *Denied) Error() string { return d.Reason }

var needs = map[Right]string{
	RightRead:    "see this",
	RightComment: "comment",
	RightReview:  "mark files as reviewed",
	RightPrompt:  "send messages to the agent",
	RightApprove: "approve what the agent wants to do",
	RightType:    "type in terminals",
	RightAccount: "have an account here",
	RightManage:  "change this",
}

func (p Principal) deny(need Right) error {
	if need == RightManage {
		return &Denied{need, "only the owner can do this"}
	}
	if need == RightAccount {
		return &Denied{need, "this needs an account. Ask the owner for an invitation"}
	}
	return &Denied{need, fmt.Sprintf("as %s you can't %s. Ask the owner for a link that allows it", p.roleName(),
		needs[need])}
}

// roleName returns the role with its article.
func (p Principal) roleName() string {
	switch p.Role {
	case "":
		return "a visitor"
	case RoleAgent, RoleOwner:
		return "an " + string(p.Role)
	}
	return "a " + string(p.Role)
}
