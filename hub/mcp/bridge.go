package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bridge carries an endpoint's tools over a program's standard input and output.
type Bridge struct {
	URL     string // of the endpoint
	Token   string
	Version string // of the program
	In      io.ReadCloser
	Out     io.WriteCloser
}

// alive is how often the bridge asks whether the host is still there.
const alive = 10 * time.Second

// Run connects and serves until whoever started it leaves, which is no error, or the host ends.
func (b Bridge) Run(ctx context.Context) error {
	if err := b.check(); err != nil {
		return err
	}
	changed, shut := make(chan struct{}, 1), make(chan struct{})
	remote, err := b.connect(ctx, changed, sync.OnceFunc(func() { close(shut) }))
	if isClosed(shut) {
		return errEnded
	}
	if err != nil {
		return b.explain(err)
	}
	defer remote.Close()
	n := &relay{remote: remote, server: mcp.NewServer(&mcp.Implementation{Name: "ahphub", Title: "ahphub", Version: b.Version}, &mcp.ServerOptions{
		Instructions: remote.InitializeResult().Instructions,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})}
	if err := n.offer(ctx); err != nil {
		return b.explain(err)
	}
	local, err := n.server.Connect(ctx, &mcp.IOTransport{Reader: b.In, Writer: b.Out}, nil)
	if err != nil {
		return err
	}
	defer local.Close()
	left, ended := wait(local.Wait), wait(remote.Wait)
	for {
		select {
		case <-changed:
			if err := n.offer(ctx); err != nil {
				return b.explain(err)
			}
		case <-shut:
			return errEnded
		case <-left:
			return nil
		case <-ctx.Done():
			return nil
		case err := <-ended:
			return b.explain(err)
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wait runs a wait that ends with its connection.
func wait(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func (b Bridge) check() error {
	u, err := url.Parse(b.URL)
	switch {
	case b.URL == "" || b.Token == "":
		return fmt.Errorf("%s and %s are not set: ahphub sets them when it has an agent start this; there is no use in starting it by hand", EnvURL, EnvToken)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%s is %q: it is an address like http://127.0.0.1:8137%s", EnvURL, b.URL, Path)
	}
	return nil
}

// connect joins the host. shut is called when the host does not know the token any more.
func (b Bridge) connect(ctx context.Context, changed chan<- struct{}, shut func()) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "ahphub-mcp", Version: b.Version}, &mcp.ClientOptions{
		KeepAlive: alive,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case changed <- struct{}{}:
			default: // it is on its way
			}
		},
	})
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy = nil // the host is on this machine
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: b.URL, MaxRetries: 2,
		HTTPClient: &http.Client{Transport: bearer{direct, b.Token, shut}}}, nil)
}

// bearer shows the token with each request, and tells when it is refused.
type bearer struct {
	next  http.RoundTripper
	token string
	shut  func()
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	res, err := b.next.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusForbidden {
		b.shut()
	}
	return res, err
}

var errEnded = errors.New("the host does not know the token any more: the agent's session is over")

// explain says what went wrong in a way that whoever reads an agent's log can act on.
func (b Bridge) explain(err error) error {
	switch {
	case err == nil:
		return fmt.Errorf("the host at %s ended the connection", b.URL)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, mcp.ErrConnectionClosed), errors.Is(err, io.EOF):
		return fmt.Errorf("the host at %s is gone: %w", b.URL, err)
	}
	return fmt.Errorf("the host at %s cannot be used: %w", b.URL, err)
}

// relay offers the tools of one server as another's.
type relay struct {
	remote *mcp.ClientSession
	server *mcp.Server
	names  []string
}

// offer brings the list of tools to the host's.
func (n *relay) offer(ctx context.Context) error {
	var names []string
	for tool, err := range n.remote.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		n.server.AddTool(tool, n.call)
		names = append(names, tool.Name)
	}
	now := map[string]bool{}
	for _, name := range names {
		now[name] = true
	}
	for _, name := range n.names {
		if !now[name] {
			n.server.RemoveTools(name)
		}
	}
	n.names = names
	return nil
}

func (n *relay) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return n.remote.CallTool(ctx, &mcp.CallToolParams{Name: req.Params.Name, Arguments: req.Params.Arguments})
}
