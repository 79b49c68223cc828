package core

import (
	"net/url"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

// CheckNewURI refuses a URI that a client cannot give to what it creates. Each kind has its schemes, so that no channel
// passes for one of another kind; the first scheme makes the example. A URI is <scheme>:/<id>, with an authority
// or without.
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
