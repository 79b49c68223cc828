package access

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// IsTokenName reports whether a query parameter with this name holds a token, in any letter case.
func IsTokenName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "token") || strings.Contains(name, "tkn")
}

// isSecretName reports whether a query parameter holds a secret, or something that leads to one.
func isSecretName(name string) bool {
	return IsTokenName(name) || slices.Contains([]string{"next", "code", "state"}, name)
}

var (
	// tokenLike matches what may be a token: every token has at least 16 characters, while the
	// host's own identifiers other than UUIDs are shorter.
	tokenLike = regexp.MustCompile(`[A-Za-z0-9_-]{16,}`)
	uuidLike  = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// LoggedPath returns path with everything that may be a token replaced, for logs and the audit:
// users paste tokens into addresses.
func LoggedPath(path string) string {
	return tokenLike.ReplaceAllStringFunc(path, func(s string) string {
		if uuidLike.MatchString(s) {
			return s
		}
		return "…"
	})
}

// LoggedAddress does for an address with its query what LoggedPath does for a path.
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
