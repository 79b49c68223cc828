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

// Bridge passes an endpoint's tools on over a program's standard input and output.
type Bridge struct {
	URL     string // of the endpoint
	Token   string
	Version string // of the program
	In      io.ReadCloser
	Out     io.WriteCloser
}

// alive is the interval at which the bridge checks that the host is up.
const alive = 10 * time.Second

var errEnded = errors.New("ahphub no longer accepts the token: the agent's session has ended")

// Run connects and serves until its parent process disconnects, which is no error, or the host
// ends.
func (b Bridge) Run(ctx context.Context) error {
	if err := b.check(); err != nil {
		return err
	}
	n := &relay{changed: make(chan struct{}, 1), shut: make(chan struct{})}
	err := n.join(ctx, b)
	if err == nil {
		defer n.remote.Close()
		err = n.serve(ctx, b)
	}
	if err != nil && isClosed(n.shut) {
		return errEnded
	}
	return err
}

func (b Bridge) check() error {
	u, err := url.Parse(b.URL)
	switch {
	case b.URL == "" || b.Token == "":
		return fmt.Errorf("%s and %s are not set. Agents of ahphub start this command; it does not work on its own",
			EnvURL, EnvToken)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%s is %q. Use an address such as http://127.0.0.1:8137%s", EnvURL, b.URL, Path)
	}
	return nil
}

// explain converts an error for the reader of an agent's log.
func (b Bridge) explain(err error) error {
	switch {
	case err == nil:
		return fmt.Errorf("the server at %s ended the connection", b.URL)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, mcp.ErrConnectionClosed), errors.Is(err, io.EOF):
		return fmt.Errorf("the server at %s does not answer: %w", b.URL, err)
	}
	return fmt.Errorf("the server at %s cannot be used: %w", b.URL, err)
}

// relay offers the tools of the host's server on a server of its own.
type relay struct {
	remote  *mcp.ClientSession // with the host
	local   *mcp.Server        // for the agent
	names   []string           // of the offered tools
	changed chan struct{}      // not empty when they may have changed
	shut    chan struct{}      // closed when the host refuses the token
}

// join connects to the host.
func (n *relay) join(ctx context.Context, b Bridge) (err error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "ahphub-mcp", Version: b.Version}, &mcp.ClientOptions{
		KeepAlive: alive,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case n.changed <- struct{}{}:
			default: // already signalled
			}
		},
		ProgressNotificationHandler: func(ctx context.Context, r *mcp.ProgressNotificationClientRequest) {
			for agent := range n.local.Sessions() {
				_ = agent.NotifyProgress(ctx, r.Params) // the agent may have disconnected
			}
		},
	})
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy = nil // the host is on this machine
	auth := bearer{next: direct, token: b.Token, refused: sync.OnceFunc(func() { close(n.shut) })}
	n.remote, err = client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: b.URL, MaxRetries: 1,
		HTTPClient: &http.Client{Transport: auth}}, nil)
	if err != nil {
		return b.explain(err)
	}
	n.local = mcp.NewServer(&mcp.Implementation{Name: "ahphub", Title: "ahphub", Version: b.Version},
		&mcp.ServerOptions{
			Instructions: n.remote.InitializeResult().Instructions,
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
		})
	return nil
}

// serve answers the agent until either side disconnects.
func (n *relay) serve(ctx context.Context, b Bridge) error {
	if err := n.updateTools(ctx); err != nil {
		return b.explain(err)
	}
	agent, err := n.local.Connect(ctx, &mcp.IOTransport{Reader: b.In, Writer: b.Out}, nil)
	if err != nil {
		return err
	}
	defer agent.Close()
	left, ended := wait(agent.Wait), wait(n.remote.Wait)
	for {
		select {
		case <-n.changed:
			if err := n.updateTools(ctx); err != nil {
				return b.explain(err)
			}
		case <-n.shut:
			return errEnded
		case err := <-ended:
			return b.explain(err)
		case <-left:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// wait returns a channel for the result of a blocking call that ends with its connection.
func wait(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// updateTools updates the list of tools to the host's.
func (n *relay) updateTools(ctx context.Context) error {
	var names []string
	now := map[string]bool{}
	for tool, err := range n.remote.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		n.local.AddTool(tool, n.call)
		names, now[tool.Name] = append(names, tool.Name), true
	}
	for _, name := range n.names {
		if !now[name] {
			n.local.RemoveTools(name)
		}
	}
	n.names = names
	return nil
}

func (n *relay) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	params := &mcp.CallToolParams{Name: req.Params.Name, Arguments: req.Params.Arguments}
	if token := req.Params.GetProgressToken(); token != nil {
		params.SetProgressToken(token)
	}
	return n.remote.CallTool(ctx, params)
}

// bearer adds the token to each request, and signals when it is refused.
type bearer struct {
	next    http.RoundTripper
	token   string
	refused func()
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	res, err := b.next.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusForbidden {
		b.refused()
	}
	return res, err
}
