package people

import (
	"fmt"
	"slices"
	"strings"
)

// Claims are a provider's statements about a person. Issuer and Subject identify the person;
// everything else may change.
type Claims struct {
	Issuer   string   `json:"issuer"`
	Subject  string   `json:"subject"`
	Name     string   `json:"name,omitempty"`
	Email    string   `json:"email,omitempty"`
	Verified bool     `json:"verified,omitempty"` // the provider verified the e-mail address
	Groups   []string `json:"groups,omitempty"`
}

// Rule admits people with matching claims, as a role.
type Rule struct {
	Kind  string // email, domain, group, subject or anyone
	Value string
	Role  string
}

const ruleForm = "use KIND:VALUE=ROLE with email, domain, group or subject, as in domain:example.com=commenter, or " +
	"anyone=viewer"

// ParseRule parses "domain:example.com=commenter". The caller checks the role.
func ParseRule(text string) (Rule, error) {
	at := strings.LastIndex(text, "=")
	if at < 0 {
		return Rule{}, fmt.Errorf("it names no role: %s", ruleForm)
	}
	r := Rule{Role: strings.TrimSpace(text[at+1:])}
	r.Kind, r.Value, _ = strings.Cut(strings.TrimSpace(text[:at]), ":")
	if r.Role == "" || (r.Kind == "anyone") != (r.Value == "") {
		return Rule{}, fmt.Errorf("it is not complete: %s", ruleForm)
	}
	switch r.Kind {
	case "email":
		r.Value = strings.ToLower(r.Value)
		if !strings.Contains(r.Value, "@") {
			return Rule{}, fmt.Errorf("%q is not an email address: %s", r.Value, ruleForm)
		}
	case "domain":
		r.Value = strings.ToLower(strings.TrimPrefix(r.Value, "@"))
		if strings.ContainsAny(r.Value, "@* ") {
			return Rule{}, fmt.Errorf("%q is not a domain: %s", r.Value, ruleForm)
		}
	case "group", "subject", "anyone":
	default:
		return Rule{}, fmt.Errorf("%q is not a kind of rule: %s", r.Kind, ruleForm)
	}
	return r, nil
}

// lets reports whether the rule matches a person. An e-mail address only counts if the provider
// verified it: anyone can enter another person's address in a profile.
func (r Rule) lets(c Claims) bool {
	switch r.Kind {
	case "email":
		return c.Verified && strings.ToLower(c.Email) == r.Value
	case "domain":
		at := strings.LastIndex(c.Email, "@")
		return c.Verified && at >= 0 && strings.ToLower(c.Email[at+1:]) == r.Value
	case "group":
		return slices.Contains(c.Groups, r.Value)
	case "subject":
		return c.Subject == r.Value
	}
	return r.Kind == "anyone"
}

// Role returns the role of the first rule that matches, so exceptions come first; "" for none.
func Role(rules []Rule, c Claims) string {
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.lets(c) }); i >= 0 {
		return rules[i].Role
	}
	return ""
}
