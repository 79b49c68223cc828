package audit

import (
	"slices"
	"strings"
)

// others are kinds of entries besides actions, methods and forms: of those who come and go.
var others = []string{"signed in", "signed in by password", "signed in by passkey", "sign-in refused", "signed out",
	"joined", "joining refused", "took an invitation", "invitation refused"}

// Kinds returns the kinds of entries there can be, in order. How people sign in at a provider of OpenID Connect is not
// among them, as it has the provider's name.
func Kinds() []string {
	all := slices.Clone(others)
	for _, what := range actions {
		all = append(all, what)
	}
	for _, m := range methods {
		all = append(all, m.what)
	}
	for _, f := range forms {
		all = append(all, f.what)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Kind returns what an entry is about without the detail, as in "made a token" for "made a token: laptop".
func (e *Entry) Kind() string {
	kind, _, _ := strings.Cut(e.What, ": ")
	return kind
}
