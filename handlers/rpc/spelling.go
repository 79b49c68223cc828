package rpc

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
)

// spelling rewrites names of channels for a connection whose client computes names instead of
// reading them: a session under its provider's scheme, a chat by its session. The host has one name
// for each. The zero value rewrites nothing until the client uses such a name; with providers every
// session is named by its provider until the client uses the host's name for it. docs/versions.md
// states the rule.
type spelling struct {
	providers *providers // nil: clients learn the host's names

	mu    sync.RWMutex
	pairs []pair
	plain map[ahp.URI]bool    // the client itself uses the host's name
	below map[ahp.URI]ahp.URI // changesets that the client names below their session, by the host's name
}

type pair struct{ theirs, ours []byte } // quoted, as in JSON

// maxSpellings bounds the rewritten names of a connection.
const maxSpellings = 256

// toHost returns params with the host's names.
func (s *socket) toHost(params json.RawMessage) json.RawMessage {
	var p struct {
		Channel              ahp.URI   `json:"channel"`
		Subscriptions        []ahp.URI `json:"subscriptions"`
		InitialSubscriptions []ahp.URI `json:"initialSubscriptions"`
	}
	if json.Unmarshal(params, &p) != nil {
		return params // the decoder reports what is wrong
	}
	for _, uri := range slices.Concat([]ahp.URI{p.Channel}, p.Subscriptions, p.InitialSubscriptions) {
		if ours, ok := s.changesetNamed(uri); ok {
			s.names.learnBelow(uri, ours)
			params = bytes.ReplaceAll(params, quoteURI(uri), quoteURI(ours))
		} else if strings.HasPrefix(uri, changesetScheme) {
			s.names.forgetBelow(uri) // the client uses the catalogue's name now
		}
		s.names.learn(uri, s.resolve)
	}
	params = s.names.rewrite(params, func(p pair) ([]byte, []byte) { return p.theirs, p.ours })
	if s.names.providers != nil {
		params = s.byHost(params)
	}
	return params
}

// toClient returns a frame with the client's names.
func (n *spelling) toClient(frame []byte) []byte {
	frame = n.belowSessions(n.rewrite(frame, func(p pair) ([]byte, []byte) { return p.ours, p.theirs }))
	if n.providers != nil {
		frame = n.byProvider(frame)
	}
	return frame
}

// rewrite replaces whole strings of JSON. Quotes within a string are escaped, so no part of a
// string matches.
func (n *spelling) rewrite(b []byte, of func(pair) (from, to []byte)) []byte {
	n.mu.RLock()
	defer n.mu.RUnlock()
	for _, p := range n.pairs {
		if from, to := of(p); bytes.Contains(b, from) {
			b = bytes.ReplaceAll(b, from, to)
		}
	}
	return b
}

// learn records a name that the client uses. A name of the host's is never rewritten from then on.
func (n *spelling) learn(theirs ahp.URI, named func(ahp.URI) (ahp.URI, bool)) {
	if theirs == "" || theirs == ahp.RootURI {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	ours, known := named(theirs)
	switch {
	case n.providers != nil && strings.HasPrefix(theirs, hostScheme):
		n.keep(sessionPart(theirs, hostScheme)) // also one that this request makes
	case !known:
	case ours == theirs:
		n.keep(ours)
	case n.providers != nil && strings.HasPrefix(ours, hostScheme):
		delete(n.plain, ours)
	case len(n.pairs) < maxSpellings && !n.plain[ours]:
		n.add(theirs, ours)
		n.add(theirs+"/annotations", ours+"/annotations")
	}
}

// keep records that the client itself uses a name of the host's; n.mu is held.
func (n *spelling) keep(ours ahp.URI) {
	if n.plain == nil {
		n.plain = map[ahp.URI]bool{}
	}
	if len(n.plain) < maxSpellings {
		n.plain[ours] = true
	}
}

func (n *spelling) add(theirs, ours ahp.URI) {
	p := pair{quoteURI(theirs), quoteURI(ours)}
	if !slices.ContainsFunc(n.pairs, func(o pair) bool {
		return bytes.Equal(o.theirs, p.theirs) ||
			bytes.Equal(o.ours, p.ours)
	}) {
		n.pairs = append(n.pairs, p)
	}
}

func quoteURI(uri ahp.URI) []byte { return []byte(`"` + uri + `"`) }

// resolve returns the channel that a name means: its own, a session's under its provider's scheme,
// or the default chat of the session that a chat is named after.
func (s *socket) resolve(uri ahp.URI) (ahp.URI, bool) {
	if strings.ContainsAny(uri, `"\`) {
		return "", false
	}
	if _, known := s.cfg.Hub.Info(uri); known {
		return uri, true
	}
	if session, ok := sessionIn(uri); ok {
		if session, ok = s.resolve(session); !ok {
			return "", false
		}
		chat := s.defaultChat(session)
		return chat, chat != ""
	}
	scheme, id, ok := strings.Cut(uri, ":/")
	ours := hostScheme + id
	info, known := s.cfg.Hub.Info(ours)
	return ours, ok && known && info.Kind == ahp.ChannelSession && !strings.HasPrefix(scheme, "ahp-")
}

// sessionIn decodes the session's URI in a chat's: ahp-chat://<authority>/<base64url of it>.
func sessionIn(chat ahp.URI) (ahp.URI, bool) {
	rest, ok := strings.CutPrefix(chat, "ahp-chat://")
	_, coded, slash := strings.Cut(rest, "/")
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(coded, "="))
	session := string(raw)
	return session, ok && slash && err == nil && strings.Contains(session, ":/") &&
		!strings.HasPrefix(session, "ahp-chat:")
}

// titleTarget returns the channel that a new title is for: some clients send a session's title to
// its default chat.
func (s *socket) titleTarget(channel ahp.URI, action json.RawMessage) ahp.URI {
	if actionType(action) != "session/titleChanged" {
		return channel
	}
	info, _, ok := s.visible(channel)
	if ok && info.Kind == ahp.ChannelChat && s.defaultChat(info.Session) == channel {
		return info.Session
	}
	return channel
}
