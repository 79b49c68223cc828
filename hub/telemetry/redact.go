package telemetry

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// hidden replaces secrets.
const hidden = "[hidden]"

var (
	// secretKey matches names whose values are secret, whatever their form.
	secretKey = regexp.MustCompile(
		`(?i)(^|[._-])(authorization|cookie|password|passwd|secret|token|tkn|api[._-]?key|private[._-]?key)s?$`)
	// secretText matches secrets in running text: values after such a name, and tokens with a
	// recognizable form.
	secretText = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}` +
		`|\b[a-z0-9_.-]*(authorization|cookie|password|passwd|secret|token|tkn|api[_-]?key)["']?\s*[:=]\s*["']?[^\s"'&,;]+` +
		`|\b(ahp_|sk-|gh[pousr]_|github_pat_|xox[a-z]-|glpat-|AKIA)[a-z0-9_-]{12,}` +
		`|\beyJ[a-z0-9_-]{10,}\.[a-z0-9_-]{10,}\.[a-z0-9_-]*`)
)

// secrets are known secrets, such as the owner's token.
type secrets struct {
	mu    sync.RWMutex
	known []string
}

func (s *secrets) hide(secret string) {
	if len(secret) < 8 {
		return // too short: it would match words
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known, secret)
}

// text removes all secrets from a text.
func (s *secrets) text(v string) string {
	v = s.replaceKnown(v)
	if !mayHoldSecret(v) {
		return v
	}
	return secretText.ReplaceAllString(v, hidden)
}

// marks lists, in lower case, a part of every match of secretText.
var marks = []string{"bearer", "basic", "authorization", "cookie", "password", "passwd", "secret", "token", "tkn", "api",
	"ahp_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox", "glpat-", "akia", "eyj"}

// mayHoldSecret reports whether secretText must run on a text. The expression is 30 times slower,
// and most texts have none of its words. Letters beyond ASCII may fold to one of them.
func mayHoldSecret(v string) bool {
	for i := range len(v) {
		if v[i] >= utf8.RuneSelf {
			return true
		}
	}
	lower := strings.ToLower(v)
	return slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(lower, m) })
}

// replaceKnown removes the known secrets from a text.
func (s *secrets) replaceKnown(v string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, k := range s.known {
		v = strings.ReplaceAll(v, k, hidden)
	}
	return v
}
