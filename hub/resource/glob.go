package resource

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	mostGlobs     = 100
	mostGlobBytes = 1024
)

// globs says which paths a watch covers. A pattern that matches a directory covers its content too.
type globs struct{ includes, excludes []string }

func newGlobs(includes, excludes *ahp.StringCollection) (g globs, err error) {
	if g.includes, err = patterns("includes", includes); err != nil {
		return g, err
	}
	g.excludes, err = patterns("excludes", excludes)
	return g, err
}

func patterns(name string, list *ahp.StringCollection) (out []string, err error) {
	if list == nil {
		return nil, nil
	}
	if len(list.Items) > mostGlobs {
		return nil, ahp.Errorf(ahp.CodeInvalidParams, "%s: at most %d patterns are allowed", name, mostGlobs)
	}
	for _, p := range list.Items {
		p = strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
		if p == "" || len(p) > mostGlobBytes || !doublestar.ValidatePattern(p) {
			return nil, ahp.Errorf(ahp.CodeInvalidParams, "%s: %.80q is not a valid path pattern", name, p)
		}
		out = append(out, p)
	}
	return out, nil
}

func (g globs) match(rel string) bool {
	return (len(g.includes) == 0 || fits(g.includes, rel)) && !fits(g.excludes, rel)
}

func (g globs) excluded(rel string) bool { return fits(g.excludes, rel) }

func fits(list []string, rel string) bool {
	for _, p := range list {
		for end := 0; end < len(rel); {
			next := strings.IndexByte(rel[end:], '/')
			if next < 0 {
				next = len(rel) - end
			}
			if ok, _ := doublestar.Match(p, rel[:end+next]); ok {
				return true
			}
			end += next + 1
		}
	}
	return false
}
