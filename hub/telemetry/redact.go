package telemetry

import (
	"regexp"
	"strings"
	"sync"
)

// hidden stands for what is not told.
const hidden = "[hidden]"

var (
	// secretKey are names whose value is a secret, whatever it looks like.
	secretKey = regexp.MustCompile(`(?i)(^|[._-])(authorization|cookie|password|passwd|secret|token|tkn|api[._-]?key|private[._-]?key)s?$`)
	// secretText are secrets in running text: what follows such a name, and the tokens that say what they are.
	secretText = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}` +
		`|\b[a-z0-9_.-]*(authorization|cookie|password|passwd|secret|token|tkn|api[_-]?key)["']?\s*[:=]\s*["']?[^\s"'&,;]+` +
		`|\b(ahp_|sk-|gh[pousr]_|github_pat_|xox[a-z]-|glpat-|AKIA)[a-z0-9_-]{12,}` +
		`|\beyJ[a-z0-9_-]{10,}\.[a-z0-9_-]{10,}\.[a-z0-9_-]*`)
)

// secrets are those the host knows by heart, as the owner's token.
type secrets struct {
	mu    sync.RWMutex
	known []string
}

func (s *secrets) hide(secret string) {
	if len(secret) < 8 {
		return // it would hide words
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known, secret)
}

// text is a text without secrets.
func (s *secrets) text(v string) string {
	return secretText.ReplaceAllString(s.replaced(v), hidden)
}

// replaced is a text without those the host knows by heart.
func (s *secrets) replaced(v string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, k := range s.known {
		v = strings.ReplaceAll(v, k, hidden)
	}
	return v
}
