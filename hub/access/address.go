package access

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// IsTokenName reports whether a name in a query stands for a token, in whatever case a person typed it.
func IsTokenName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "token") || strings.Contains(name, "tkn")
}

// isSecretName reports whether a part of a query holds a secret, or leads to something that does.
func isSecretName(name string) bool {
	return IsTokenName(name) || slices.Contains([]string{"next", "code", "state"}, name)
}

var (
	// tokenLike is what may be a token: each has 16 characters or more, while the host's own names of things, but for
	// UUIDs, are shorter.
	tokenLike = regexp.MustCompile(`[A-Za-z0-9_-]{16,}`)
	uuidLike  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// LoggedPath is a path as it may stand in a log or in the audit: people paste tokens into addresses.
func LoggedPath(path string) string {
	return tokenLike.ReplaceAllStringFunc(path, func(s string) string {
		if uuidLike.MatchString(s) {
			return s
		}
		return "…"
	})
}

// LoggedAddress is LoggedPath for an address with its query.
func LoggedAddress(u *url.URL) string {
	if u.RawQuery == "" {
		return LoggedPath(u.Path)
	}
	q, safe := u.Query(), url.Values{}
	for key, values := range q {
		if isSecretName(key) {
			safe.Set(LoggedPath(key), "…")
			continue
		}
		for _, v := range values {
			safe.Add(LoggedPath(key), LoggedPath(v))
		}
	}
	return LoggedPath(u.Path) + "?" + safe.Encode()
}
