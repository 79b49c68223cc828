package changeset

import (
	"bytes"
	"path"
	"strings"
)

// ignoreRules are the lines of a file like .gitignore that determine with certainty whether a
// directory is ignored. Lines that are not understood never ignore anything here: reading what git
// skips only costs time.
type ignoreRules struct {
	below string // the directory of the file, below the top, with slashes
	rules []ignoreRule
}

type ignoreRule struct {
	pattern  string // in the syntax of path.Match
	anchored bool   // matches the whole path, not only the name
	negated  bool
	unsure   bool
}

// parseIgnore reads the lines of a file like .gitignore.
func parseIgnore(below string, data []byte) ignoreRules {
	r := ignoreRules{below: below}
	for line := range strings.Lines(string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasSuffix(line, `\ `) {
			line = strings.TrimRight(line, " ")
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if rule := parseIgnoreRule(line); rule.negated || !rule.unsure {
			r.rules = append(r.rules, rule)
		}
	}
	return r
}

func parseIgnoreRule(line string) (rule ignoreRule) {
	line, rule.negated = strings.CutPrefix(line, "!")
	line = strings.TrimSuffix(line, "/") // only directories are checked
	if rest, ok := strings.CutPrefix(line, "**/"); ok && !strings.Contains(rest, "/") {
		line = rest
	}
	rule.anchored = strings.Contains(line, "/")
	rule.pattern = strings.TrimPrefix(line, "/")
	_, err := path.Match(rule.pattern, "")
	rule.unsure = err != nil || rule.pattern == "" || strings.Contains(rule.pattern, "**") ||
		strings.Contains(rule.pattern, "[")
	return rule
}

// decide returns the effect of the last rule about a directory; known is false when there is none.
func (r ignoreRules) decide(dir string) (ignored, known bool) {
	rel := dir
	if r.below != "" {
		rel = strings.TrimPrefix(dir, r.below+"/")
	}
	base := path.Base(dir)
	for i := len(r.rules) - 1; i >= 0; i-- {
		if r.rules[i].matches(rel, base) {
			return !r.rules[i].negated, true
		}
	}
	return false, false
}

// matches reports whether a rule matches. It is broad for rules that include a directory again,
// regardless of case, and exact for the others.
func (r ignoreRule) matches(rel, base string) bool {
	if r.unsure {
		return true
	}
	pattern, name := r.pattern, base
	if r.anchored {
		name = rel
	}
	if r.negated {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// ignores evaluates the innermost file first, as git does.
func ignores(rules []ignoreRules, dir string) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if ignored, known := rules[i].decide(dir); known {
			return ignored
		}
	}
	return false
}
