package customs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// Checking out a repository must not start programs that its files declare. A server runs only
// after the owner has seen and trusted its command, in its directory. Servers declared in the hub's
// own file are trusted.

// Trust records who trusted a command, and when.
type Trust struct {
	Name string        `json:"name"` // of the server
	Dir  string        `json:"dir"`
	By   core.Identity `json:"by"`
	At   time.Time     `json:"at"`
}

// trustBucket holds a Trust by machine.ServerCommand.Digest.
const trustBucket = "mcptrust"

const maxTrusted = 2000

func (p *Part) loadTrust(ctx context.Context) error {
	list, err := p.core.Store.Records(ctx, trustBucket)
	for _, r := range list {
		var t Trust
		if err := json.Unmarshal(r.Value, &t); err != nil {
			p.core.Log.Error("a trusted command cannot be read", "key", r.Key, "err", err)
			continue
		}
		p.registry.trusted[r.Key] = t
	}
	return err
}

// mayRun reports whether a server may run.
func (c *registry) mayRun(v *mcpServer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isTrusted(v)
}

// isTrusted is mayRun with c.mu held.
func (c *registry) isTrusted(v *mcpServer) bool {
	if v.place == machine.OwnPlace || v.entry.Command == nil {
		return true
	}
	_, ok := c.trusted[v.entry.Command.Digest()]
	return ok
}

// TrustServer lets a session's MCP server run as long as its command has the given digest.
//
// Errors: -32001 no such session, -32009 not the owner, -32602 no such server, -32011 the command
// has changed.
func (p *Part) TrustServer(ctx context.Context, c core.Caller, session ahp.URI, id, digest string) error {
	v, err := p.findTrustee(c, session, id)
	if err != nil {
		return err
	}
	if digest != v.entry.Command.Digest() {
		return ahp.Errorf(ahp.CodeConflict, "this server's definition has changed. Check its command again")
	}
	t := Trust{Name: v.entry.Name, Dir: v.entry.Command.As, By: c.Who(), At: p.core.Now().UTC()}
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	full := false
	err = p.core.Do(ctx, func(tx *hub.Tx) {
		p.registry.mu.Lock()
		defer p.registry.mu.Unlock()
		if full = len(p.registry.trusted) >= maxTrusted; !full {
			p.registry.trusted[digest] = t
			tx.Record(trustBucket, digest, raw)
		}
	})
	if full {
		return core.BadParams("%d commands are already trusted. Revoke some first", maxTrusted)
	}
	p.refreshAll()
	return err
}

// DistrustServer undoes TrustServer and stops the server in every session. Errors: as TrustServer.
func (p *Part) DistrustServer(ctx context.Context, c core.Caller, session ahp.URI, id string) error {
	v, err := p.findTrustee(c, session, id)
	if err != nil {
		return err
	}
	digest := v.entry.Command.Digest()
	err = p.core.Do(ctx, func(tx *hub.Tx) {
		p.registry.mu.Lock()
		defer p.registry.mu.Unlock()
		delete(p.registry.trusted, digest)
		tx.Record(trustBucket, digest, nil)
	})
	p.refreshAll()
	return err
}

// findTrustee returns a session's server if the caller may trust it.
func (p *Part) findTrustee(c core.Caller, session ahp.URI, id string) (*mcpServer, error) {
	if p.core.Catalogue.Alive(session) == nil || !c.Audience().Sees(core.SessionInfo(session)) {
		return nil, core.NoSession(session)
	}
	if !c.IsOwner() {
		return nil, ahp.Errorf(ahp.CodePermissionDenied, "only the owner can trust servers")
	}
	v := p.findServer(session, id)
	switch {
	case v == nil:
		return nil, core.BadParams("this session has no such server. It may have been removed")
	case v.place == machine.OwnPlace:
		return nil, core.BadParams(
			"this server comes from ahphub's own settings. Remove it from %s to stop it from running",
			machine.OwnServers)
	case v.entry.Command == nil:
		return nil, core.BadParams("%s %s", v.entry.Name, v.entry.Problem)
	}
	return v, nil
}

// ServerDetail holds details of an MCP server that the protocol's entry lacks, for pages.
type ServerDetail struct {
	Place   machine.CustomPlace
	Trusted bool
	By      string // name of the person who trusted it
	Digest  string
	Tools   []ServerTool

	Command, Dir string // only for the owner
	Sets, Reads  []string
}

// ServerDetails returns the details of a session's servers by id. Only the owner sees the commands.
func (p *Part) ServerDetails(owner bool, session ahp.URI) map[string]ServerDetail {
	out := map[string]ServerDetail{}
	for _, v := range p.listServers(session) {
		d := ServerDetail{Place: v.place, Tools: v.listTools()}
		if c := v.entry.Command; c != nil {
			d.Digest = c.Digest()
			p.registry.mu.Lock()
			t := p.registry.trusted[d.Digest]
			d.Trusted, d.By = p.registry.isTrusted(v), t.By.Name
			p.registry.mu.Unlock()
			if owner {
				d.Command, d.Dir, d.Sets, d.Reads = c.Shown(), c.Dir, c.Sets(), c.Reads()
			}
		}
		out[v.entry.ID] = d
	}
	return out
}

func (v *mcpServer) listTools() (list []ServerTool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range v.tools {
		list = append(list, ServerTool{Name: t.Name, Title: cmp.Or(t.Title, t.Name),
			Description: texts.CutBytes(texts.OneLine(t.Description), 300)})
	}
	return list
}

// ServerName returns the name of a session's server, or "".
func ServerName(s *ahp.SessionState, id string) string {
	if m, _ := findListed(s, id); m != nil {
		return m.Name
	}
	return ""
}

// Decisions holds the decisions on an entry by scope; nil: none.
type Decisions struct{ Session, Workspace, All *bool }

// ListDecisions returns the decisions that apply to a session, by entry.
func (p *Part) ListDecisions(session ahp.URI, s *ahp.SessionState) map[string]Decisions {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]Decisions{}
	note := func(scope string, put func(*Decisions, *bool)) {
		for id, on := range c.decided[scope] {
			d := out[id]
			put(&d, &on)
			out[id] = d
		}
	}
	note(scopeOfSession(session), func(d *Decisions, on *bool) { d.Session = on })
	note(p.scopeOfWorkspace(s), func(d *Decisions, on *bool) { d.Workspace = on })
	note(scopeAll, func(d *Decisions, on *bool) { d.All = on })
	return out
}

// HasMore reports whether a session has more customizations than are shown.
func (p *Part) HasMore(session ahp.URI) bool {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[session] != nil && c.by[session].over
}

// findToken returns a client's token for a server's address.
func (p *Part) findToken(url string) string {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tokens[url]
}

// tokenWait limits how long authenticate waits for a server's answer. Slower answers only appear in
// the server's state.
const tokenWait = 5 * time.Second

// TakeToken stores a token for a resource that an MCP server asks for (AHP requirement 190), and
// starts the servers that wait for it. It returns an error if a server refuses the token (AHP
// requirement 189). "" removes the token.
func (p *Part) TakeToken(ctx context.Context, resource, token string) (known bool, err error) {
	list := p.keepToken(resource, token)
	if token == "" {
		return len(list) > 0, nil
	}
	started := make(chan waitingServer, len(list))
	for _, w := range list {
		p.core.Lanes.Add(p.core.Ctx, lane(w.session), func(context.Context) {
			w.run = p.startServer(w.session, w.v, false)
			started <- w
		})
	}
	ctx, cancel := context.WithTimeout(ctx, tokenWait)
	defer cancel()
	for range list {
		select {
		case w := <-started:
			err = errors.Join(err, w.refusal(ctx, resource))
		case <-ctx.Done():
		}
	}
	return len(list) > 0, err
}

// waitingServer is a session's server that asked for a token, and its run with the token.
type waitingServer struct {
	session ahp.URI
	v       *mcpServer
	run     *serverRun
}

// keepToken stores a token for the servers that want it, and returns them.
func (p *Part) keepToken(resource, token string) (list []waitingServer) {
	c := &p.registry
	c.mu.Lock()
	defer c.mu.Unlock()
	for session, n := range c.by {
		for _, v := range n.servers {
			if !v.wantsToken(resource) {
				continue
			}
			list = append(list, waitingServer{session: session, v: v})
			if c.tokens[v.entry.Command.URL] = token; token == "" {
				delete(c.tokens, v.entry.Command.URL)
			}
		}
	}
	return list
}

// refusal waits for the server's answer, and returns an error if it asks for a token again.
func (w waitingServer) refusal(ctx context.Context, resource string) error {
	if w.run == nil {
		return nil
	}
	select {
	case <-w.run.ready:
	case <-ctx.Done():
		return nil
	}
	if !w.v.wantsToken(resource) {
		return nil
	}
	return fmt.Errorf("%s refused it. Get a new one and send that", w.v.entry.Name)
}

func (v *mcpServer) wantsToken(resource string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	auth, ok := v.state.(*ahp.McpServerAuthRequiredState)
	return ok && auth.Resource.Resource == resource
}
