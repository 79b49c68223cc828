package rpc

import (
	"cmp"
	"context"
	"slices"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/dialect"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/jsonrpc"
)

// maxClientID bounds what a client may call itself.
const maxClientID = 256

// initialize picks the version, registers the client and answers in the place
// of its first snapshots (AHP requirements 5 and 6).
func (s *socket) initialize(ctx context.Context, m jsonrpc.Message) error {
	var p ahp.InitializeParams
	if err := s.first(m, &p); err != nil {
		return err
	}
	v, err := negotiate(p.ProtocolVersions)
	if err != nil {
		s.refuse(m, err)
		if e, ok := err.(*ahp.Error); ok && e.Code == ahp.CodeUnsupportedProtocolVersion {
			s.end(errVersion) // AHP requirement 17
		}
		return nil
	}
	if err := s.checkClient(p.ClientID, len(p.InitialSubscriptions)); err != nil {
		return err
	}
	if err := s.admit(ctx, p.ClientID, p.ClientInfo); err != nil {
		return err
	}
	if err := s.connect(ctx, p.ClientID, v, false); err != nil {
		return err
	}
	if err := s.clients.initialized(clientKey{s.principal.ID, p.ClientID}, client{v.String(), p.Capabilities}); err != nil {
		s.log.Warn("the client will have to initialize after a restart", "client", p.ClientID, "err", err)
	}
	var subs []hub.Subscription
	exports, asked := s.telemetryOf(p.InitialSubscriptions)
	uris, _ := s.prepare(ctx, asked)
	for _, uri := range uris {
		subs = append(subs, hub.Subscription{URI: uri})
	}
	s.conn.Subscribe(initialized{m, s.greeting(v)}, subs...)
	s.followAll(exports)
	s.start(p.ClientInfo)
	return nil
}

// first decodes what may only come as the first request.
func (s *socket) first(m jsonrpc.Message, into any) error {
	if s.conn != nil {
		return ahp.Errorf(ahp.CodeInvalidRequest, "%s comes first, once: open a new connection", m.Method)
	}
	if !m.IsRequest() {
		return ahp.Errorf(ahp.CodeInvalidRequest, "%s is a request: give it an id", m.Method)
	}
	return params(m, into)
}

func (s *socket) checkClient(id string, subscriptions int) error {
	switch {
	case core.IsPageClient(id):
		return ahp.Errorf(ahp.CodeInvalidParams, "a clientId that begins with page: or pages| belongs to the web pages: choose another one")
	case id == "" || len(id) > maxClientID:
		return ahp.Errorf(ahp.CodeInvalidParams, "clientId must have between 1 and %d bytes", maxClientID)
	case subscriptions > s.cfg.Limits.Subscriptions:
		return ahp.Errorf(ahp.CodeInvalidParams, "a connection may follow %d channels, not %d", s.cfg.Limits.Subscriptions, subscriptions)
	}
	return nil
}

// admit finds out whom a client's id makes of the bearer of a link's token. Nothing was said in their name before.
func (s *socket) admit(ctx context.Context, clientID string, info *ahp.Implementation) error {
	if s.cfg.Admit == nil {
		return nil
	}
	name := ""
	if info != nil {
		name = cmp.Or(info.Title, info.Name)
	}
	p, err := s.cfg.Admit(ctx, s.principal, clientID, name)
	if err != nil {
		return err
	}
	if err := s.reseat(p); err != nil {
		return err
	}
	s.principal, s.log = p, s.cfg.Log.With("principal", p)
	return nil
}

// connect joins the timeline. A clientId of another principal is refused; an
// older socket of the same client ends.
func (s *socket) connect(ctx context.Context, clientID string, v dialect.Version, resume bool) error {
	return s.clients.bindings.connect(ctx, s.principal, clientID, func() error {
		audience := s.principal.Audience()
		conn, err := s.cfg.Hub.Connect(hub.ConnConfig{Principal: s.principal.ID, ClientID: clientID, Audience: audience, Resume: resume,
			End: s.cancel})
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conn, s.clientID, s.tongue = conn, clientID, newTongue(v, audience.Key())
		if s.reason != nil { // end came first
			conn.Close(s.reason)
		}
		return nil
	})
}

func (s *socket) start(info *ahp.Implementation) {
	s.log = s.log.With("client", s.clientID)
	attrs := []any{"version", s.tongue.version}
	if info != nil {
		attrs = append(attrs, "program", info.Name, "programVersion", info.Version)
	}
	s.log.Info("client joined", attrs...)
	s.wg.Go(s.write)
}

// prepare makes channels ready, each once; those that cannot be are left out.
func (s *socket) prepare(ctx context.Context, asked []ahp.URI) (ready, missing []ahp.URI) {
	missing = []ahp.URI{}
	for i, uri := range asked {
		if slices.Contains(asked[:i], uri) {
			continue
		}
		if err := s.ready(ctx, uri); err != nil {
			s.log.Debug("not followed", "channel", uri, "err", err)
			missing = append(missing, uri)
			continue
		}
		ready = append(ready, uri)
	}
	return ready, missing
}

func (s *socket) greeting(v dialect.Version) ahp.InitializeResult {
	return ahp.InitializeResult{
		ProtocolVersion:  v.String(),
		ServerInfo:       &ahp.Implementation{Name: s.cfg.Name, Version: s.cfg.Version},
		DefaultDirectory: s.cfg.DefaultDirectory,
		Automations:      s.cfg.Host.AutomationCapabilities(s.caller()),
		Telemetry:        s.telemetry(),

		CompletionTriggerCharacters: []string{host.CompletionTrigger, host.CommandTrigger},
	}
}

// initialized answers initialize.
type initialized struct {
	m        jsonrpc.Message
	greeting ahp.InitializeResult
}

func (r initialized) frame(s *socket, it *hub.Item) ([]byte, error) {
	r.greeting.ServerSeq, r.greeting.Snapshots = it.Seq, s.snapshots(it.Snapshots)
	return s.resultFrame(r.m, r.greeting)
}
