package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Book remembers each client's version, because reconnect does not repeat it. The zero value is
// ready.
type Book struct {
	mu       sync.Mutex
	versions map[string]string // by clientId
}

// Conn checks one connection: requests of its client and the host's answers.
type Conn struct {
	Kind func(ahp.URI) ahp.ChannelKind // returns the kind of a channel; default: KindOf

	book *Book

	mu      sync.Mutex
	client  string
	version string
	calls   map[string]string // id → method of pending requests
}

// Conn returns a Conn for a new connection.
func (b *Book) Conn() *Conn { return &Conn{book: b, calls: map[string]string{}} }

func (b *Book) remember(client, version string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.versions == nil {
		b.versions = map[string]string{}
	}
	b.versions[client] = version
}

func (b *Book) find(client string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.versions[client]
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// Sent records a client's request. Other frames are ignored.
func (c *Conn) Sent(frame []byte) {
	var m message
	if json.Unmarshal(frame, &m) != nil || m.Method == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(m.ID) > 0 {
		c.calls[string(m.ID)] = m.Method
	}
	if m.Method == "initialize" || m.Method == "reconnect" {
		var p struct {
			ClientID string `json:"clientId"`
		}
		_ = json.Unmarshal(m.Params, &p) // otherwise the host refuses it
		c.client = p.ClientID
		if m.Method == "reconnect" {
			c.version = c.book.find(p.ClientID)
		}
	}
}

// Received checks a frame from the host. It returns spec.ErrAbsent or nil if it found nothing.
func (c *Conn) Received(frame []byte) error {
	var m message
	if err := json.Unmarshal(frame, &m); err != nil {
		return fmt.Errorf("no message: %w: %.500s", err, frame)
	}
	if m.JSONRPC != "2.0" {
		return fmt.Errorf("no JSON-RPC 2.0: %.500s", frame)
	}
	method := c.methodOfResponse(m)
	if c.version == "" {
		return nil // an error before the version is known
	}
	s, err := rulesFor(c.version)
	if errors.Is(err, spec.ErrAbsent) && os.Getenv("AHPHUB_REQUIRE_SPEC") != "1" {
		return spec.ErrAbsent
	}
	if err != nil {
		return err
	}
	switch {
	case m.Method != "":
		return s.once(m.Params, func() error { return c.request(s, m) })
	case m.Error != nil:
		return s.failure(m.Error)
	}
	return c.result(s, method, m.Result)
}

// methodOfResponse returns the method that a response answers, and records the version once it is
// known.
func (c *Conn) methodOfResponse(m message) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Method != "" {
		return m.Method
	}
	method := c.calls[string(m.ID)]
	delete(c.calls, string(m.ID))
	if method == "initialize" && m.Error == nil {
		var r struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(m.Result, &r) // the schema reports a missing version
		c.version = r.ProtocolVersion
		c.book.remember(c.client, c.version)
	}
	return method
}

// request checks a notification or a request from the host. Each names its channel.
func (c *Conn) request(s *rules, m message) error {
	var err error
	if m.Method == "action" {
		err = c.envelope(s, m.Params)
	} else {
		err = s.check(spec.ParamsDef(m.Method), m.Params)
	}
	var p struct {
		Channel ahp.URI `json:"channel"`
	}
	if json.Unmarshal(m.Params, &p) != nil || p.Channel == "" {
		err = errors.Join(err, fmt.Errorf("%s names no channel: %.500s", m.Method, m.Params))
	}
	return err
}

// envelope checks an action. A refused one is returned as its client sent it, whatever that was.
func (c *Conn) envelope(s *rules, raw []byte) error {
	if err := s.check("ActionEnvelope", raw); err != nil {
		return err
	}
	var e struct {
		Action          json.RawMessage `json:"action"`
		Origin          *struct{}       `json:"origin"`
		RejectionReason string          `json:"rejectionReason"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	if e.RejectionReason != "" && e.Origin != nil {
		return nil
	}
	var a struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(e.Action, &a) // without a type, there is no definition
	return s.check(spec.ActionDef(a.Type), e.Action)
}

// result checks the answer to a method; methods without a definition return null or nothing.
func (c *Conn) result(s *rules, method string, raw []byte) error {
	def := spec.ResultDef(method)
	if method == "reconnect" {
		return c.reconnected(s, raw)
	}
	if !s.has(def) {
		return nil
	}
	if err := s.check(def, raw); err != nil {
		return err
	}
	var r struct {
		Snapshot  *snapshot  `json:"snapshot"`
		Snapshots []snapshot `json:"snapshots"`
	}
	switch method {
	case "subscribe", "initialize":
		if err := json.Unmarshal(raw, &r); err != nil {
			return err
		}
	}
	if r.Snapshot != nil {
		r.Snapshots = append(r.Snapshots, *r.Snapshot)
	}
	return c.snapshots(s, r.Snapshots)
}

func (c *Conn) reconnected(s *rules, raw []byte) error {
	var r struct {
		Type      string            `json:"type"`
		Actions   []json.RawMessage `json:"actions"`
		Snapshots []snapshot        `json:"snapshots"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	if err := s.check(spec.ResultDef("reconnect/"+r.Type), raw); err != nil {
		return err
	}
	for _, e := range r.Actions {
		if err := c.envelope(s, e); err != nil {
			return err
		}
	}
	return c.snapshots(s, r.Snapshots)
}

type snapshot struct {
	Resource ahp.URI         `json:"resource"`
	State    json.RawMessage `json:"state"`
}

func (c *Conn) snapshots(s *rules, list []snapshot) error {
	kind := c.Kind
	if kind == nil {
		kind = KindOf
	}
	for _, snap := range list {
		if err := s.check(spec.StateDef(string(kind(snap.Resource))), snap.State); err != nil {
			return fmt.Errorf("snapshot of %s: %w", snap.Resource, err)
		}
	}
	return nil
}

// failures maps error codes to the definitions of their data.
var failures = map[int]string{
	ahp.CodeAuthRequired: "AuthRequiredErrorData", ahp.CodePermissionDenied: "PermissionDeniedErrorData",
	ahp.CodeUnsupportedProtocolVersion: "UnsupportedProtocolVersionErrorData",
}

func (s *rules) failure(raw []byte) error {
	var e struct {
		Code    *int            `json:"code"`
		Message *string         `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &e); err != nil || e.Code == nil || e.Message == nil {
		return fmt.Errorf("no error of JSON-RPC: %s", raw)
	}
	if def := failures[*e.Code]; e.Data != nil && def != "" && s.has(def) {
		return s.check(def, e.Data)
	}
	return nil
}
