package people

import (
	"cmp"
	"encoding/json"
	"maps"
	"net"
	"slices"
	"strings"
	"unicode"

	"github.com/ahphub/ahphub/hub/texts"
)

const (
	longestSaid = 200
	mostGroups  = 500
)

// read adds a provider's claims to c; from decodes them.
func (o *OIDC) read(c *Claims, from func(any) error) error {
	var all map[string]json.RawMessage
	if err := from(&all); err != nil {
		return err
	}
	text := func(name string) (s string) {
		_ = json.Unmarshal(all[name], &s) // another type counts as missing
		return printable(s)
	}
	c.Name = cmp.Or(c.Name, text("name"), text("preferred_username"), text("nickname"))
	if c.Email == "" { // email_verified refers to this email
		c.Email, c.Verified = text("email"), truth(all["email_verified"])
	}
	if c.Groups == nil {
		c.Groups = groups(all[o.cfg.GroupsClaim])
	}
	return nil
}

// truth parses a boolean, which some providers send as a string.
func truth(raw json.RawMessage) bool {
	return string(raw) == "true" || string(raw) == `"true"`
}

// groups parses the formats that providers use: a list, a single name, or an object whose keys are
// the names. Nil if missing.
func groups(raw json.RawMessage) []string {
	var list []string
	var one string
	var object map[string]json.RawMessage
	switch {
	case json.Unmarshal(raw, &list) == nil:
	case json.Unmarshal(raw, &one) == nil:
		list = []string{one}
	case json.Unmarshal(raw, &object) == nil:
		list = slices.Sorted(maps.Keys(object))
	}
	return list[:min(len(list), mostGroups)]
}

// said formats a provider's error.
func said(code, description string) string {
	text := printable(code)
	if d := printable(description); d != "" {
		text += ": " + d
	}
	return cmp.Or(text, "it gave no reason")
}

func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
	return texts.CutRunes(s, longestSaid)
}

// IsLocal reports whether a host name or address is this machine's.
func IsLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
