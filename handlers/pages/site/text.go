package site

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
	"github.com/ahphub/ahphub/templ/part"
)

// EscapeInline escapes Markdown in a name.
func EscapeInline(s string) string {
	s = texts.OneLine(s)
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`,
		"#", `\#`, "|", `\|`).Replace(s)
}

// OriginOf returns the scheme and host of a request, for absolute links.
func OriginOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// RelativePath returns a file's path relative to its working directory; with several directories,
// prefixed by their name.
func RelativePath(uri ahp.URI, dirs []ahp.URI) string {
	path := part.FilePath(uri)
	for _, dir := range dirs {
		root := strings.TrimSuffix(part.FilePath(dir), "/")
		if rest, ok := strings.CutPrefix(path, root+"/"); ok {
			if len(dirs) > 1 {
				return root[strings.LastIndexByte(root, '/')+1:] + "/" + rest
			}
			return rest
		}
	}
	return strings.TrimPrefix(path, "/")
}

// TurnChanges reads the host's summary of a turn's changed files, from its own key of the usage's `_meta`.
func TurnChanges(u *ahp.UsageInfo) *ahp.ChangesSummary {
	if u == nil {
		return nil
	}
	var own struct {
		Changes *ahp.ChangesSummary `json:"changes"`
	}
	_ = json.Unmarshal(u.Meta["ahphub"], &own) // optional
	return own.Changes
}

// OrZero returns *p, or 0 for nil.
func OrZero(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}
