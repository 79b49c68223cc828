package rpc

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
)

// hostScheme is the prefix of the host's names of sessions; clients may choose other names for
// those they make.
const hostScheme = "ahp-session:/"

// ByProvider serves the endpoint to clients that read a session's provider out of its URI: their
// sessions are called <provider>:/<id> from the first frame on. See spelling.
func (e *Endpoint) ByProvider() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.serve(w, r, e.providers) })
}

// providers caches the providers of sessions, because the frame that reports a session's removal is
// written after the removal.
type providers struct {
	find func(session ahp.URI) (provider string)

	mu    sync.Mutex
	known map[ahp.URI]string
	names []string // of current agents and agents of earlier sessions
}

// maxProviders bounds the cache; evicted entries are looked up again.
const maxProviders = 64 << 10

func (p *providers) of(session ahp.URI) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name, ok := p.known[session]; ok {
		return name
	}
	name := p.find(session)
	if name == "" {
		return ""
	}
	if p.known == nil || len(p.known) >= maxProviders {
		p.known = map[ahp.URI]string{}
	}
	p.known[session] = name
	if !slices.Contains(p.names, name) {
		p.names = append(slices.Clone(p.names), name)
	}
	return name
}

func (p *providers) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names
}

// sessionPart cuts off the part after a session's id, as in <session>/annotations.
func sessionPart(uri ahp.URI, scheme string) ahp.URI {
	id, _, _ := strings.Cut(uri[len(scheme):], "/")
	return scheme + id
}

// byProvider returns a frame with every session of the host's scheme under its provider's, except
// those that the client itself calls by the host's name.
func (n *spelling) byProvider(frame []byte) []byte {
	return rewriteSessions(frame, hostScheme, func(session ahp.URI) ahp.URI {
		n.mu.RLock()
		plain := n.plain[session]
		n.mu.RUnlock()
		provider := n.providers.of(session)
		if plain || provider == "" {
			return session
		}
		return provider + ":/" + strings.TrimPrefix(session, hostScheme)
	})
}

// byHost returns params with the host's names for sessions that the client calls by their provider.
func (s *socket) byHost(params []byte) []byte {
	for _, provider := range s.names.providers.all() {
		params = rewriteSessions(params, provider+":/", func(session ahp.URI) ahp.URI {
			if ours, ok := s.resolve(session); ok {
				return ours
			}
			return session
		})
	}
	return params
}

// rewriteSessions replaces the session at the beginning of each JSON string that is a URI of a
// scheme: the session's URI, alone or followed by "/".
func rewriteSessions(b []byte, scheme string, rename func(session ahp.URI) ahp.URI) []byte {
	return rewriteURIs(b, scheme, func(uri ahp.URI) ahp.URI {
		session := sessionPart(uri, scheme)
		return rename(session) + uri[len(session):]
	})
}

// rewriteURIs replaces the JSON strings that are a URI of a scheme. Strings with whitespace or
// escapes are text and stay as they are.
func rewriteURIs(b []byte, scheme string, rename func(ahp.URI) ahp.URI) []byte {
	begin := []byte(`"` + scheme)
	var out []byte
	done := 0
	for at := 0; ; {
		i := bytes.Index(b[at:], begin)
		if i < 0 {
			break
		}
		at += i + 1
		end := bytes.IndexAny(b[at:], "\"\\ \t\r\n")
		if end < 0 || b[at+end] != '"' || at > 1 && b[at-2] == '\\' {
			continue
		}
		uri := string(b[at : at+end])
		if name := rename(uri); name != uri {
			out = append(append(out, b[done:at]...), name...)
			done = at + end
		}
		at += end
	}
	if out == nil {
		return b
	}
	return append(out, b[done:]...)
}
