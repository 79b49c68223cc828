package site

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
	"github.com/ahphub/ahphub/templ/part"
)

// EscapeInline keeps a name from being Markdown.
func EscapeInline(s string) string {
	s = texts.OneLine(s)
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`,
		"#", `\#`, "|", `\|`).Replace(s)
}

// OriginOf returns the scheme and host a request came to, for links that work elsewhere.
func OriginOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// RelativePath returns the path of a file below the working directory that holds it; with several, its name goes first.
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

// TurnChanges reads what the host noted of a turn's changed files, in its own key of the usage's `_meta`.
func TurnChanges(u *ahp.UsageInfo) *ahp.ChangesSummary {
	if u == nil {
		return nil
	}
	var own struct {
		Changes *ahp.ChangesSummary `json:"changes"`
	}
	_ = json.Unmarshal(u.Meta["ahphub"], &own) // absent: nothing is known
	return own.Changes
}

// OrZero returns the number, 0 when there is none.
func OrZero(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}
