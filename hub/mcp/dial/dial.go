package dial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Dialer starts MCP servers, or connects to them, as their client.
type Dialer struct {
	Version string   // of the program, sent to servers
	Pass    []string // variables of the hub's environment that servers see in addition to the usual ones

	// Start starts a program; nil: (*exec.Cmd).Start, for programs without a sandbox
	Start func(*exec.Cmd, *sandbox.Policy) error
}

const (
	mostLine  = 16 << 20         // bytes of one message of a server
	dialAlive = 30 * time.Second // interval of checks that a remote server is up
)

// Dial returns when the server is ready, or when ctx ends.
func (d Dialer) Dial(ctx context.Context, spec machine.ServerSpec) (machine.ServerConn, error) {
	cmd, err := spec.Command.Expand(lookupVariable)
	if err != nil {
		return nil, err
	}
	spec.Command = cmd
	c := &conn{changed: make(chan struct{}, 1), done: make(chan struct{})}
	opts := &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{}, // servers cannot send requests
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.signalChange() },
	}
	t, err := d.transport(spec, c, opts)
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "ahphub", Title: "ahphub", Version: d.Version}, opts)
	c.session, err = client.Connect(ctx, t, nil)
	if err != nil {
		return nil, c.explainFailure(ctx, err)
	}
	go c.follow()
	return c, nil
}

// lookupVariable returns a variable that a server's declaration names. It hides the hub's own.
func lookupVariable(name string) (string, bool) {
	if strings.HasPrefix(name, "AHPHUB_") {
		return "", false
	}
	return os.LookupEnv(name)
}

func (d Dialer) transport(spec machine.ServerSpec, c *conn, opts *mcp.ClientOptions) (mcp.Transport, error) {
	cmd := spec.Command
	if cmd.URL == "" {
		p, err := d.startServer(cmd, spec)
		if err != nil {
			return nil, err
		}
		c.process = p
		return &mcp.IOTransport{Reader: p.stdout, Writer: p.stdin, MaxLineLength: mostLine}, nil
	}
	if _, err := url.Parse(cmd.URL); err != nil {
		return nil, fmt.Errorf("%q is not a valid address: %w", cmd.URL, err)
	}
	c.asked = &asked{server: cmd.URL}
	h := headers{next: http.DefaultTransport, set: cmd.Headers, token: spec.Token, server: cmd.URL, asked: c.asked}
	opts.KeepAlive = dialAlive
	client := &http.Client{Transport: h}
	if cmd.SSE {
		return &mcp.SSEClientTransport{Endpoint: cmd.URL, HTTPClient: client}, nil
	}
	return &mcp.StreamableClientTransport{Endpoint: cmd.URL, HTTPClient: client, MaxRetries: 3}, nil
}

// conn is a connection to a server.
type conn struct {
	session *mcp.ClientSession
	process *process // of a server started here
	asked   *asked   // of a remote server
	changed chan struct{}
	done    chan struct{}
	err     error // the reason of its end, once done
	close   sync.Once
}

// explainFailure returns why there is no connection, and ends what was started for it.
func (c *conn) explainFailure(ctx context.Context, err error) error {
	if need := c.asked.token(ctx); need != nil {
		return need
	}
	if c.process == nil {
		return fmt.Errorf("cannot reach the server: %w", err)
	}
	// otherwise the invalid output explains more
	if !strings.Contains(err.Error(), "invalid character") && c.process.hasEnded() {
		return c.process.explain(nil)
	}
	c.process.stop()
	return c.process.explain(err)
}

func (c *conn) signalChange() {
	select {
	case c.changed <- struct{}{}:
	default: // already signalled
	}
}

// follow waits for the end of the connection.
func (c *conn) follow() {
	defer close(c.done)
	err := c.session.Wait()
	if c.process != nil {
		c.process.stop()
		c.err = c.process.explain(nil)
		return
	}
	c.err = errors.New("the server ended the connection")
	if err != nil {
		c.err = fmt.Errorf("the server ended the connection: %w", err)
	}
}

// Close ends the connection, and the program started for it.
func (c *conn) Close() {
	c.close.Do(func() {
		if c.process != nil {
			c.process.stop() // a hanging server does not block the session
		}
		_ = c.session.Close() // its error only describes the closing
	})
	<-c.done
}

func (c *conn) Changed() <-chan struct{} { return c.changed }
func (c *conn) Done() <-chan struct{}    { return c.done }
func (c *conn) Err() error               { return c.err }

// Has reports whether the server announced a capability.
func (c *conn) Has(capability string) bool {
	can := c.session.InitializeResult().Capabilities
	if can == nil {
		return false
	}
	switch capability {
	case "tools":
		return can.Tools != nil
	case "resources":
		return can.Resources != nil
	case "prompts":
		return can.Prompts != nil
	case "completions":
		return can.Completions != nil
	}
	return false
}

// requests are the requests that can be forwarded to a server.
var requests = map[string]func(context.Context, *mcp.ClientSession, json.RawMessage) (any, error){
	"tools/list":               ask((*mcp.ClientSession).ListTools),
	"tools/call":               callTool,
	"resources/list":           ask((*mcp.ClientSession).ListResources),
	"resources/templates/list": ask((*mcp.ClientSession).ListResourceTemplates),
	"resources/read":           ask((*mcp.ClientSession).ReadResource),
	"prompts/list":             ask((*mcp.ClientSession).ListPrompts),
	"prompts/get":              ask((*mcp.ClientSession).GetPrompt),
	"completion/complete":      ask((*mcp.ClientSession).Complete),
}

func ask[P, R any](f func(*mcp.ClientSession, context.Context, *P) (*R, error)) func(context.Context,
	*mcp.ClientSession, json.RawMessage) (any, error) {
	return func(ctx context.Context, s *mcp.ClientSession, raw json.RawMessage) (any, error) {
		p := new(P)
		if err := json.Unmarshal(raw, p); err != nil {
			return nil, err
		}
		return f(s, ctx, p)
	}
}

// callTool passes the arguments on unchanged, so that large numbers keep their digits.
func callTool(ctx context.Context, s *mcp.ClientSession, raw json.RawMessage) (any, error) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	call := &mcp.CallToolParams{Name: p.Name}
	if len(p.Arguments) > 0 {
		call.Arguments = p.Arguments
	}
	return s.CallTool(ctx, call)
}

// Do sends one request.
func (c *conn) Do(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	f := requests[method]
	if f == nil {
		return nil, fmt.Errorf("%s cannot be forwarded to MCP servers", method)
	}
	res, err := f(ctx, c.session, params)
	if err != nil {
		return nil, err
	}
	return json.Marshal(res)
}

// headers adds a server's headers to requests for it, but not to redirects to other hosts.
type headers struct {
	next   http.RoundTripper
	set    map[string]string
	token  string
	server string
	asked  *asked
}

func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if sameOrigin(h.server, r.URL) {
		r = r.Clone(r.Context())
		for name, value := range h.set {
			r.Header.Set(name, value)
		}
		if h.token != "" {
			r.Header.Set("Authorization", "Bearer "+h.token)
		}
	}
	res, err := h.next.RoundTrip(r)
	if err == nil && (res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden) &&
		sameOrigin(h.server, r.URL) {
		h.asked.note(res, h.token != "")
	}
	return res, err
}

func sameOrigin(server string, u *url.URL) bool {
	s, err := url.Parse(server)
	return err == nil && s.Scheme == u.Scheme && strings.EqualFold(s.Host, u.Host)
}
