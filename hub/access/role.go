package access

import (
	"fmt"
	"slices"
	"strings"
)

// Role is what somebody was let in as.
type Role string

// The roles. A guest has the role of the link they came by.
const (
	RoleOwner     Role = "owner"     // everything
	RoleViewer    Role = "viewer"    // reads
	RoleCommenter Role = "commenter" // and comments, and marks files reviewed
	RoleDriver    Role = "driver"    // and prompts, approves, types: a switch each
	RoleMember    Role = "member"    // has an account, and sees what links let them into
	RoleAgent     Role = "agent"     // no person: a session's agent, which reads, comments and resolves there
)

// Right is a kind of doing. The tables map every action, method and route to one.
type Right string

// The rights.
const (
	RightRead    Right = "read"
	RightComment Right = "comment" // start threads, reply, resolve
	RightReview  Right = "review"  // mark files reviewed
	RightPrompt  Right = "prompt"  // say something to the agent
	RightApprove Right = "approve" // let a tool call run
	RightType    Right = "type"    // terminal input
	RightAccount Right = "account" // one's own ways to sign in, and tokens
	RightManage  Right = "manage"  // settings, sessions, files, links: the owner

	rightHost Right = "host" // only the host itself; nobody has it
)

// roleRights is what each role has without a switch.
var roleRights = map[Role][]Right{
	RoleOwner:     {RightRead, RightComment, RightReview, RightPrompt, RightApprove, RightType, RightAccount, RightManage},
	RoleMember:    {RightRead},
	RoleViewer:    {RightRead},
	RoleCommenter: {RightRead, RightComment, RightReview},
	RoleDriver:    {RightRead, RightComment, RightReview},
	RoleAgent:     {RightRead, RightComment},
}

// Has reports whether a principal has a right somewhere; where is the tables' question.
func (p Principal) Has(r Right) bool {
	if slices.Contains(roleRights[p.Role], r) {
		return true
	}
	if r == RightAccount {
		return p.Account()
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

// ParseRole reads the role of a link as a form sends it.
func ParseRole(s string) (Role, error) {
	r := Role(strings.ToLower(strings.TrimSpace(s)))
	if _, ok := roleRights[r]; !ok || r == RoleOwner || r == RoleAgent || r == RoleMember {
		return "", fmt.Errorf("%q is no role a link can have: use viewer, commenter or driver", s)
	}
	return r, nil
}

// Denied is the refusal of something by the tables; its text is for the person refused.
type Denied struct {
	Need   Right
	Reason string
}

// Error returns the sentence.
func (d *Denied) Error() string { return d.Reason }

var needs = map[Right]string{
	RightRead:    "see this",
	RightComment: "comment",
	RightReview:  "mark files reviewed",
	RightPrompt:  "send messages to the agent",
	RightApprove: "approve what the agent wants to do",
	RightType:    "type in terminals",
	RightAccount: "have an account here",
	RightManage:  "change this",
}

func (p Principal) deny(need Right) error {
	if need == RightManage {
		return &Denied{need, "only the owner may do this"}
	}
	if need == RightAccount {
		return &Denied{need, "this is for people with an account: ask the owner for an invitation"}
	}
	return &Denied{need, fmt.Sprintf("as a %s you may not %s: ask the owner for a link that allows it", p.roleName(), needs[need])}
}

func (p Principal) roleName() string {
	if p.Role == "" {
		return "visitor"
	}
	return string(p.Role)
}
