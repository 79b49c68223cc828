package notify

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/ahphub/ahphub/hub/texts"
)

const (
	longestLine = 140     // characters of text by an agent or a person
	maxRead     = 8 << 10 // bytes of it that are read, because the hub's lock is held
	mostOfLine  = 1 << 10
)

// line returns the first line of prose of a text, safe to send elsewhere: without code blocks, and
// with likely secrets removed.
func line(text string) string {
	text, fence := text[:min(len(text), maxRead)], ""
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		mark := fenceOf(l)
		if fence != "" {
			if strings.HasPrefix(mark, fence) {
				fence = ""
			}
			continue
		}
		if fence = mark; fence != "" {
			continue
		}
		if l = clean(l[:min(len(l), mostOfLine)]); l != "" {
			return texts.ElideRunes(redact(l), longestLine)
		}
	}
	return ""
}

func fenceOf(l string) string {
	for _, c := range []string{"`", "~"} {
		if rest := strings.TrimLeft(l, c); len(l)-len(rest) >= 3 {
			return l[:len(l)-len(rest)]
		}
	}
	return ""
}

// blank lists characters that count as letters or symbols but are invisible.
const blank = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"

// clean returns one plain line: without control and invisible characters, and without the markup of
// a heading, quote or list.
func clean(l string) string {
	l = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), unicode.Is(unicode.Variation_Selector, r), strings.ContainsRune(blank, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(l, ""))
	return texts.OneLine(strings.TrimLeft(l, "#>*- "))
}

// secrets match parts of texts that must be secrets. Mail and webhooks are read in more places than
// the host's pages.
var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b((?:authorization|bearer|basic)["']?\s*[=:\s]\s*)["']?(?:(?:bearer|basic)\s+)?[^\s"',;]{8,}["']?`),
	regexp.MustCompile(`(?i)\b((?:token|secret|passwd|password|passphrase|pwd|credential|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key)s?["']?\s*[=:]\s*)["']?[^\s"',;]{3,}["']?`),
	regexp.MustCompile(`(?i)\b([a-z0-9_]*(?:_token|_key|_secret|_password)\s*=\s*)\S+`),
	regexp.MustCompile(`(://)[^/\s@]+(@)`),
	regexp.MustCompile(`()\b(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|npm|xox[abeprs]|hf|whsec)[-_][-_A-Za-z0-9]{8,}`),
	regexp.MustCompile(`()\b(?:AKIA|ASIA|AIza)[A-Za-z0-9_-]{12,}`),
	regexp.MustCompile(`()\beyJ[-_A-Za-z0-9]{10,}(?:\.[-_A-Za-z0-9]+)*`),
	regexp.MustCompile(`()-----BEGIN.*`),
	regexp.MustCompile(`()[A-Za-z0-9+/_=-]{40,}`),
}

func redact(s string) string {
	for _, r := range secrets {
		s = r.ReplaceAllString(s, "${1}…${2}")
	}
	return s
}
