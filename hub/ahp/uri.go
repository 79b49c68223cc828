package ahp

import "strings"

// hosts are the schemes of resources that a host serves itself, or that are no resource of a
// client.
var hosts = map[string]bool{"file": true, "http": true, "https": true, "data": true, "mailto": true, "about": true,
	"blob": true, "javascript": true, "ws": true, "wss": true}

// OfClient reports whether a URI names a resource that only the client that published it can serve,
// such as virtual://my-editor/notes.md.
func OfClient(uri URI) bool {
	scheme, _, ok := strings.Cut(uri, ":")
	if !ok || scheme == "" || len(uri) > 4096 || strings.ContainsAny(scheme, "/?# \t\r\n") {
		return false
	}
	scheme = strings.ToLower(scheme)
	return !hosts[scheme] && !strings.HasPrefix(scheme, "ahp-")
}
