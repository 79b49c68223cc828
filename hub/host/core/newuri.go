package core

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

// CheckNewURI returns an error for a URI that a client may not assign to a new channel. Each kind
// has its own schemes, so that channels of different kinds cannot be confused; the error suggests
// the first. A URI is <scheme>:/<id>, with or without an authority.
func CheckNewURI(field, kind string, uri ahp.URI, schemes ...string) error {
	scheme, rest, _ := strings.Cut(uri, ":")
	u, err := url.Parse(uri)
	switch {
	case err != nil || len(uri) > MaxURI || strings.ContainsAny(uri, " \t\r\n#\"\\"):
	case !slices.Contains(schemes, scheme) || !strings.HasPrefix(rest, "/") || strings.Trim(u.Path, "/") == "":
	default:
		return nil
	}
	return BadParams("%s: %.80q can't be the URI of a %s. Use one like %s:/<uuid>, with the scheme %s", field, uri,
		kind, schemes[0], strings.Join(schemes, ", "))
}
