package files

import (
	"context"
	"encoding/base64"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// Files held by clients: a client publishes their URI in a message or a customization, and serves
// them by the same resource methods as the host. Callers who see a reference to a file may read it;
// the client decides what it sends.

const mostListed = 10_000 // entries of a client's directory

// ClientAsker sends a request to a connected client and waits; *rpc.Endpoint implements it. It
// returns an *ahp.Error if the client refuses, is not connected, does not answer, or answers
// unreadably.
type ClientAsker interface {
	Ask(ctx context.Context, principal, clientID, method string, params, result any) error
}

// Publisher is the client that serves a URI. Only this principal's client is asked, even if another
// one uses the clientId later.
type Publisher struct{ principal, client string }

func (p Publisher) name() string {
	if p.client == "" {
		return "its client"
	}
	return "client " + texts.CutBytes(p.client, 80)
}

// findPublisher returns the client that serves a URI which the caller may know. The owner's client
// takes precedence over a guest's, and an earlier one over a later one.
func (p *Part) findPublisher(c core.Caller, uri ahp.URI) (Publisher, error) {
	var first Publisher
	for _, e := range p.cfg.Visible(c) {
		for from, owners := range p.eachPublisher(c, e.Summary.Resource, uri) {
			if owners {
				return from, nil
			}
			if first == (Publisher{}) {
				first = from
			}
		}
	}
	if first == (Publisher{}) {
		return first, ahp.Errorf(ahp.CodeNotFound, "no client published %.200q in a session that is shared with you",
			uri)
	}
	return first, nil
}

// eachPublisher yields the clients that serve a URI according to a session's loaded state, as
// references to it are on a person's screen. The second value reports whether the owner sent it.
func (p *Part) eachPublisher(c core.Caller, session, uri ahp.URI) iter.Seq2[Publisher, bool] {
	return func(yield func(Publisher, bool) bool) {
		s, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, session)
		if !ok {
			return
		}
		if c.IsOwner() {
			if from, ok := p.findCustomizer(session, s, uri); ok && !yield(from, false) {
				return
			}
		}
		for _, chat := range s.Chats {
			info, known := p.core.Hub.Info(chat.Resource)
			if !known || !c.Audience().Sees(info) {
				continue
			}
			chat, ok := hub.StateOf[*ahp.ChatState](p.core.Hub, chat.Resource)
			if !ok {
				continue
			}
			for m, parts := range eachMessage(chat) {
				if from, ok, owners := findNamed(m, parts, uri); ok && !yield(from, owners) {
					return
				}
			}
		}
	}
}

// findCustomizer returns the active client whose customizations contain a URI: the customization
// itself, or a file below it.
func (p *Part) findCustomizer(session ahp.URI, s *ahp.SessionState, uri ahp.URI) (Publisher, bool) {
	for _, a := range s.ActiveClients {
		for _, custom := range a.Customizations {
			if isBelow(custom.URI, uri) {
				by, listed := p.cfg.ClientOf(session, a.ClientID)
				return Publisher{by, a.ClientID}, listed
			}
		}
	}
	return Publisher{}, false
}

// isBelow reports whether uri is dir or below it. It rejects paths that could leave dir.
func isBelow(dir, uri ahp.URI) bool {
	rest, ok := strings.CutPrefix(uri, strings.TrimSuffix(dir, "/"))
	escaped := strings.ToLower(rest)
	return ok && dir != "" && (rest == "" || rest[0] == '/') && !strings.Contains(rest, "/..") &&
		!strings.Contains(escaped, "%2e") && !strings.Contains(escaped, "%2f")
}

// eachMessage yields the messages of a chat, oldest first, each with its answer.
func eachMessage(s *ahp.ChatState) iter.Seq2[ahp.Message, []ahp.ResponsePart] {
	return func(yield func(ahp.Message, []ahp.ResponsePart) bool) {
		for _, t := range s.Turns {
			if !yield(t.Message, t.ResponseParts) {
				return
			}
		}
		if s.ActiveTurn != nil && !yield(s.ActiveTurn.Message, s.ActiveTurn.ResponseParts.Slice()) {
			return
		}
		if s.SteeringMessage != nil && !yield(s.SteeringMessage.Message, nil) {
			return
		}
		for _, m := range s.QueuedMessages {
			if !yield(m.Message, nil) {
				return
			}
		}
	}
}

// findNamed returns the client that serves a URI in a message or its answer. owners reports whether
// the owner sent it.
func findNamed(m ahp.Message, parts []ahp.ResponsePart, uri ahp.URI) (p Publisher, found, owners bool) {
	if hasAttachment(m, uri) {
		st, _ := core.ReadStamp(m.Meta)
		return PublisherOf(m), true, st.By.Role == access.RoleOwner
	}
	for _, part := range parts {
		if call, ok := part.Value.(*ahp.ToolCallResponsePart); ok && hasResult(call.ToolCall, uri) {
			p, found = contributorOf(call.ToolCall.Base())
			return p, found, false
		}
	}
	return Publisher{}, false, false
}

// contributorOf returns the client that ran a tool call.
func contributorOf(call *ahp.ToolCallBase) (Publisher, bool) {
	if call.Contributor == nil {
		return Publisher{}, false
	}
	by, ok := call.Contributor.Value.(*ahp.ToolCallClientContributor)
	principal := core.Contributor(call.Meta)
	if !ok || principal == "" {
		return Publisher{}, false
	}
	return Publisher{principal, by.ClientID}, true
}

// hasResult reports whether a client's tool returned a URI.
func hasResult(call ahp.ToolCallState, uri ahp.URI) bool {
	done, ok := call.Value.(*ahp.ToolCallCompletedState)
	if !ok || done.Contributor == nil {
		return false
	}
	if _, ok := done.Contributor.Value.(*ahp.ToolCallClientContributor); !ok {
		return false
	}
	return slices.ContainsFunc(done.Content, func(c ahp.ToolResultContent) bool {
		v, ok := c.Value.(*ahp.ToolResultResourceContent)
		return ok && v.URI == uri
	})
}

func hasAttachment(m ahp.Message, uri ahp.URI) bool {
	for _, a := range m.Attachments {
		if v, ok := a.Value.(*ahp.MessageResourceAttachment); ok && v.URI == uri {
			return true
		}
	}
	return false
}

// AttachesOfClient reports whether a message has attachments that its client holds.
func AttachesOfClient(m *ahp.Message) bool {
	for _, a := range m.Attachments {
		if v, ok := a.Value.(*ahp.MessageResourceAttachment); ok && ahp.OfClient(v.URI) {
			return true
		}
	}
	return false
}

// PublisherOf returns the sender's client from the host's stamp on a message.
func PublisherOf(m ahp.Message) Publisher {
	st, _ := core.ReadStamp(m.Meta)
	return Publisher{st.By.ID, st.Client}
}

// fromClient forwards a request about a client's files to the client. Callers who see a reference
// to the file may read it. Everything else is the owner's, as with the host's own files.
func fromClient[R any](ctx context.Context, p *Part, c core.Caller, method string, params any, uris ...ahp.URI) (
	R, error,
) {
	var r R
	from, err := p.servedBy(c, method, uris)
	if err != nil {
		return r, err
	}
	return r, p.askClient(ctx, from, method, params, &r)
}

// servedBy returns the client that serves all given URIs.
func (p *Part) servedBy(c core.Caller, method string, uris []ahp.URI) (from Publisher, err error) {
	about := core.RootInfo
	if method == "resourceRead" {
		about = p.wholeScope(c)
	}
	if err := c.MayCall(method, about); err != nil {
		return from, err
	}
	for i, uri := range uris {
		one, err := p.findPublisher(c, uri)
		switch {
		case err != nil:
			return from, err
		case i > 0 && one != from:
			return from, core.BadParams("uri: %.200q and %.200q belong to different clients", uris[0], uri)
		}
		from = one
	}
	if from.client == c.ClientID && c.Conn != nil {
		return from, ahp.Errorf(ahp.CodeNotFound, "%.200s belongs to your own client. Read it there", uris[0])
	}
	return from, nil
}

// readClients handles resourceRead for a client's file, in the requested encoding.
func (p *Part) readClients(ctx context.Context, c core.Caller, params ahp.ResourceReadParams) (
	ahp.ResourceReadResult, error,
) {
	by, err := p.servedBy(c, "resourceRead", []ahp.URI{params.URI})
	if err != nil {
		return ahp.ResourceReadResult{}, err
	}
	data, mediaType, err := p.ReadFromClient(ctx, by, params.URI)
	if err != nil {
		return ahp.ResourceReadResult{}, err
	}
	if mediaType == "" {
		mediaType = machine.MediaType(params.URI, data)
	}
	return machine.EncodeContent(texts.CutBytes(mediaType, 200), data, params.Encoding), nil
}

func (p *Part) listClients(ctx context.Context, c core.Caller, params ahp.ResourceListParams) (
	ahp.ResourceListResult, error,
) {
	r, err := fromClient[ahp.ResourceListResult](ctx, p, c, "resourceList", params, params.URI)
	if err == nil && len(r.Entries) > mostListed {
		return ahp.ResourceListResult{},
			core.BadParams("uri: the client lists over %d entries there. List a directory in it", mostListed)
	}
	return r, err
}

func (p *Part) askClient(ctx context.Context, from Publisher, method string, params, result any) error {
	if p.cfg.Clients == nil {
		return ahp.Errorf(ahp.CodeNotFound, "%s can't be asked for it here", from.name())
	}
	return p.cfg.Clients.Ask(ctx, from.principal, from.client, method, params, result)
}

// ReadFromClient reads a file. If the client requires a request for access, it sends one and
// retries once.
func (p *Part) ReadFromClient(ctx context.Context, from Publisher, uri ahp.URI) (
	data []byte, mediaType string, err error,
) {
	params := ahp.ResourceReadParams{Channel: ahp.RootURI, URI: uri}
	var r ahp.ResourceReadResult
	err = p.askClient(ctx, from, "resourceRead", params, &r)
	if isCode(err, ahp.CodePermissionDenied) {
		request := ahp.ResourceRequestParams{Channel: ahp.RootURI, URI: uri, Read: ahp.Ptr(true)}
		if p.askClient(ctx, from, "resourceRequest", request, &ahp.ResourceRequestResult{}) == nil {
			err = p.askClient(ctx, from, "resourceRead", params, &r)
		}
	}
	if err != nil {
		return nil, "", err
	}
	data, err = contentOf(r)
	return data, r.ContentType, err
}

// contentOf decodes and validates a client's file content.
func contentOf(r ahp.ResourceReadResult) ([]byte, error) {
	switch r.Encoding {
	case ahp.ContentEncodingUtf8:
		if utf8.ValidString(r.Data) {
			return []byte(r.Data), nil
		}
	case ahp.ContentEncodingBase64:
		if data, err := base64.StdEncoding.DecodeString(r.Data); err == nil {
			return data, nil
		}
	}
	return nil, ahp.Errorf(ahp.CodeInternalError, "the client's answer can't be read, because it is not %.20q",
		r.Encoding)
}

func isCode(err error, code int) bool {
	e, ok := err.(*ahp.Error)
	return ok && e.Code == code
}
