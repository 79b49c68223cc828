package host

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/custom"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/texts"
)

// A file of a repository must not start programs by being checked out. So a server runs only once the owner has seen its
// command and trusts it: that command in that directory, and no other. What the host's own file declares is trusted.

// Trust is who trusts a command, and since when.
type Trust struct {
	Name string        `json:"name"` // of the server
	Dir  string        `json:"dir"`
	By   core.Identity `json:"by"`
	At   time.Time     `json:"at"`
}

// bucketTrust keeps a Trust by custom.Command.Digest.
const bucketTrust = "mcptrust"

const mostTrusted = 2000

func (h *Host) loadTrust(ctx context.Context) error {
	list, err := h.core.Store.Records(ctx, bucketTrust)
	for _, r := range list {
		var t Trust
		if err := json.Unmarshal(r.Value, &t); err != nil {
			h.core.Log.Error("whom somebody trusts cannot be read", "key", r.Key, "err", err)
			continue
		}
		h.customs.trusted[r.Key] = t
	}
	return err
}

// trusts reports whether a server may run.
func (c *customs) trusts(v *mcpServer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mayRun(v)
}

// mayRun is trusts with the lock held.
func (c *customs) mayRun(v *mcpServer) bool {
	if v.place == custom.Own || v.entry.Command == nil {
		return true
	}
	_, ok := c.trusted[v.entry.Command.Digest()]
	return ok
}

// TrustServer lets one of a session's MCP servers run, as long as its command is the one that was seen: digest names it.
// Errors: -32001 no such session, -32009 not the owner, -32602 no such server, -32011 it is another command by now.
func (h *Host) TrustServer(ctx context.Context, c core.Caller, session ahp.URI, id, digest string) error {
	v, err := h.trustee(c, session, id)
	if err != nil {
		return err
	}
	if digest != v.entry.Command.Digest() {
		return ahp.Errorf(ahp.CodeConflict, "this server is declared otherwise by now: look at its command again")
	}
	t := Trust{Name: v.entry.Name, Dir: v.entry.Command.As, By: c.Who(), At: h.core.Now().UTC()}
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	full := false
	err = h.core.Do(ctx, func(tx *hub.Tx) {
		h.customs.mu.Lock()
		defer h.customs.mu.Unlock()
		if full = len(h.customs.trusted) >= mostTrusted; !full {
			h.customs.trusted[digest] = t
			tx.Record(bucketTrust, digest, raw)
		}
	})
	if full {
		return core.BadParams("%d commands are trusted already: take some back first", mostTrusted)
	}
	h.customizeAll()
	return err
}

// DistrustServer takes that back: the server stops, in every session. Errors: as TrustServer's.
func (h *Host) DistrustServer(ctx context.Context, c core.Caller, session ahp.URI, id string) error {
	v, err := h.trustee(c, session, id)
	if err != nil {
		return err
	}
	digest := v.entry.Command.Digest()
	err = h.core.Do(ctx, func(tx *hub.Tx) {
		h.customs.mu.Lock()
		defer h.customs.mu.Unlock()
		delete(h.customs.trusted, digest)
		tx.Record(bucketTrust, digest, nil)
	})
	h.customizeAll()
	return err
}

func (h *Host) trustee(c core.Caller, session ahp.URI, id string) (*mcpServer, error) {
	if h.core.Catalogue.Alive(session) == nil || !c.Audience().Sees(core.SessionInfo(session)) {
		return nil, core.NoSession(session)
	}
	if !c.IsOwner() {
		return nil, ahp.Errorf(ahp.CodePermissionDenied, "only the owner lets servers run")
	}
	v := h.serverOf(session, id)
	switch {
	case v == nil:
		return nil, core.BadParams("there is no such server in this session: it may be gone by now")
	case v.place == custom.Own:
		return nil, core.BadParams("this server is the host's own: take it out of %s to have it not run", custom.OwnServers)
	case v.entry.Command == nil:
		return nil, core.BadParams("%s %s", v.entry.Name, v.entry.Problem)
	}
	return v, nil
}

// ServerDetail is what a page shows of an MCP server besides the protocol's entry.
type ServerDetail struct {
	Place   custom.Place
	Trusted bool
	By      string // who trusts it
	Digest  string
	Tools   []ServerTool

	Command, Dir string // for the owner alone
	Sets, Reads  []string
}

// ServerDetails are those of a session's servers by id. Only the owner sees how they are started.
func (h *Host) ServerDetails(owner bool, session ahp.URI) map[string]ServerDetail {
	out := map[string]ServerDetail{}
	for _, v := range h.serversOf(session) {
		d := ServerDetail{Place: v.place, Tools: v.shownTools()}
		if c := v.entry.Command; c != nil {
			d.Digest = c.Digest()
			h.customs.mu.Lock()
			t := h.customs.trusted[d.Digest]
			d.Trusted, d.By = h.customs.mayRun(v), t.By.Name
			h.customs.mu.Unlock()
			if owner {
				d.Command, d.Dir, d.Sets, d.Reads = c.Shown(), c.Dir, c.Sets(), c.Reads()
			}
		}
		out[v.entry.ID] = d
	}
	return out
}

func (v *mcpServer) shownTools() (list []ServerTool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range v.tools {
		list = append(list, ServerTool{Name: t.Name, Title: cmp.Or(t.Title, t.Name), Description: texts.CutBytes(texts.OneLine(t.Description), 300)})
	}
	return list
}

// ServerName is what one of a session's servers is called; "" when there is none.
func ServerName(s *ahp.SessionState, id string) string {
	if m, _ := listedServer(s, id); m != nil {
		return m.Name
	}
	return ""
}

// Decided is what was decided on an entry, by how far it reaches; nil is nothing.
type Decided struct{ Session, Workspace, All *bool }

// DecidedOn lists the decisions that reach a session, by entry.
func (h *Host) DecidedOn(session ahp.URI, s *ahp.SessionState) map[string]Decided {
	c := &h.customs
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]Decided{}
	note := func(scope string, put func(*Decided, *bool)) {
		for id, on := range c.decided[scope] {
			d := out[id]
			put(&d, &on)
			out[id] = d
		}
	}
	note(scopeOfSession(session), func(d *Decided, on *bool) { d.Session = on })
	note(scopeOfWorkspace(s), func(d *Decided, on *bool) { d.Workspace = on })
	note(scopeAll, func(d *Decided, on *bool) { d.All = on })
	return out
}

// CustomizationsOver reports whether a session has more than is shown.
func (h *Host) CustomizationsOver(session ahp.URI) bool {
	c := &h.customs
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by[session] != nil && c.by[session].over
}

// tokenFor returns the token that a client gave for a server's address.
func (h *Host) tokenFor(url string) string {
	c := &h.customs
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tokens[url]
}

// takeServerToken takes a token for a resource that an MCP server of this host asks for (AHP requirement 190), and starts
// those again that wait for it. "" takes it back.
func (h *Host) takeServerToken(resource, token string) (known bool) {
	c := &h.customs
	type waiting struct {
		session ahp.URI
		v       *mcpServer
	}
	var list []waiting
	c.mu.Lock()
	for session, n := range c.by {
		for _, v := range n.servers {
			if v.wants(resource) {
				list = append(list, waiting{session, v})
				if c.tokens[v.entry.Command.URL] = token; token == "" {
					delete(c.tokens, v.entry.Command.URL)
				}
			}
		}
	}
	c.mu.Unlock()
	for _, w := range list {
		if token != "" {
			h.core.Lanes.Add(h.core.Ctx, customsLane(w.session), func(context.Context) { h.startServer(w.session, w.v, false) })
		}
	}
	return len(list) > 0
}

func (v *mcpServer) wants(resource string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	auth, ok := v.state.(*ahp.McpServerAuthRequiredState)
	return ok && auth.Resource.Resource == resource
}
