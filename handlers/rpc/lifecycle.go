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

// maxClientID bounds the length of a clientId.
const maxClientID = 256

// initialize picks the version, registers the client and answers in order with its first snapshots
// (AHP requirements 5 and 6).
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
	if err := s.clients.initialized(clientKey{s.principal.ID, p.ClientID},
		client{v.String(), p.Capabilities}); err != nil {
		s.log.Warn("cannot save the client; it will have to initialize after a restart", "client", p.ClientID, "err",
			err)
	}
	var subs []hub.Subscription
	exports, asked := s.telemetryOf(p.InitialSubscriptions)
	uris, _ := s.prepare(ctx, asked)
	for _, uri := range uris {
		subs = append(subs, hub.Subscription{URI: uri})
	}
	s.followAll(exports, func() { s.conn.Subscribe(initialized{m, s.greeting(v)}, subs...) })
	s.start(p.ClientInfo)
	return nil
}

// first decodes params of methods that are allowed only as the first request.
func (s *socket) first(m jsonrpc.Message, into any) error {
	if s.conn != nil {
		return ahp.Errorf(ahp.CodeInvalidRequest, "%s is allowed once, as the first request. Open a new connection",
			m.Method)
	}
	if !m.IsRequest() {
		return ahp.Errorf(ahp.CodeInvalidRequest, "%s is a request and needs an id", m.Method)
	}
	return params(m, into)
}

func (s *socket) checkClient(id string, subscriptions int) error {
	switch {
	case core.IsPageClient(id):
		return ahp.Errorf(ahp.CodeInvalidParams,
			"a clientId that begins with page: or pages| is reserved for the web pages. Choose another one")
	case id == "" || len(id) > maxClientID:
		return ahp.Errorf(ahp.CodeInvalidParams, "clientId must have between 1 and %d bytes", maxClientID)
	case subscriptions > s.cfg.Limits.Subscriptions:
		return ahp.Errorf(ahp.CodeInvalidParams, "a connection can follow %d channels, not %d",
			s.cfg.Limits.Subscriptions, subscriptions)
	}
	return nil
}

// admit turns the bearer of a link's token into the guest of a client's id. Until then nothing was
// sent in the guest's name.
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

// connect joins the timeline. It refuses a clientId of another principal, and ends an older socket
// of the same client.
func (s *socket) connect(ctx context.Context, clientID string, v dialect.Version, resume bool) error {
	return s.clients.bindings.connect(ctx, s.principal, clientID, func() error {
		audience := s.principal.Audience()
		conn, err := s.cfg.Hub.Connect(hub.ConnConfig{Principal: s.principal.ID, ClientID: clientID, Audience: audience,
			Resume: resume,
			End:    s.cancel})
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conn, s.clientID, s.dialect = conn, clientID, newClientDialect(v, audience.Key())
		if s.reason != nil { // end was called first
			conn.Close(s.reason)
		}
		return nil
	})
}

func (s *socket) start(info *ahp.Implementation) {
	s.log = s.log.With("client", s.clientID)
	attrs := []any{"version", s.dialect.version}
	if info != nil {
		attrs = append(attrs, "program", info.Name, "programVersion", info.Version)
	}
	s.log.Info("client joined", attrs...)
	s.wg.Go(s.write)
}

// prepare makes channels ready, each once, and leaves out those that fail.
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
		Automations:      s.cfg.Automations.Capabilities(s.caller()),
		Telemetry:        s.telemetry(),

		CompletionTriggerCharacters: []string{host.CompletionTrigger, host.CommandTrigger},
	}
}

// initialized is the answer to initialize.
type initialized struct {
	m        jsonrpc.Message
	greeting ahp.InitializeResult
}

func (r initialized) frame(s *socket, it *hub.Item) ([]byte, error) {
	r.greeting.ServerSeq, r.greeting.Snapshots = it.Seq, s.snapshots(it.Snapshots)
	return s.resultFrame(r.m, r.greeting)
}
