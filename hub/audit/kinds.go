package audit

import (
	"slices"
	"strings"
)

// others are the kinds of entries besides actions, methods and forms: signing in and joining.
var others = []string{"signed in", "signed in by password", "signed in by passkey", "sign-in refused", "signed out",
	"joined", "joining refused", "took an invitation", "invitation refused"}

// Kinds returns all possible kinds of entries, in order, except sign-in by OpenID Connect, which
// includes the provider's name.
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

// Kind returns what an entry is about without the detail, as in "created a token" for "created a
// token: laptop".
func (e *Entry) Kind() string {
	kind, _, _ := strings.Cut(e.What, ": ")
	return kind
}
