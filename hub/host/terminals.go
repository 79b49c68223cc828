package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// Bounds of terminals.
const (
	mostRunning = 256 // terminals of the host at once
	keepExited  = 16  // exited terminals of a session's tool calls; older ones are closed
	mostExited  = 128 // exited terminals of the host
)

// terminals holds what runs behind the terminal channels.
type terminals struct {
	mu     sync.Mutex
	all    map[ahp.URI]*term
	exited []*term // of agents, oldest first
	saving sync.Once
	grace  time.Duration // between the signals that end a program; zero is terminalGrace
}

func (t *terminals) get(uri ahp.URI) *term {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[uri]
}

// add takes a URI for a terminal that is about to start.
func (t *terminals) add(tm *term) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[ahp.URI]*term{}
	}
	if len(t.all)-len(t.exited) >= mostRunning {
		return core.BadParams("%d terminals are open already: close some first", mostRunning)
	}
	t.all[tm.info.URI] = tm
	return nil
}

// remove forgets a terminal and returns it; nil when somebody else did.
func (t *terminals) remove(uri ahp.URI) *term {
	t.mu.Lock()
	defer t.mu.Unlock()
	tm := t.all[uri]
	delete(t.all, uri)
	t.exited = slices.DeleteFunc(t.exited, func(e *term) bool { return e == tm })
	return tm
}

func (t *terminals) list(of func(*term) bool) []*term {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []*term
	for _, tm := range t.all {
		if of(tm) {
			out = append(out, tm)
		}
	}
	return out
}

// CreateTerminal opens a shell in a terminal at the URI the client chose. It always has
// an owner: the claim is required (AHP requirement 162).
//
// Errors: -32602 the claim, directory or size is wrong or the shell does not start,
// -32010 the URI is taken, -32001 no such session, -32009 not allowed.
func (h *Host) CreateTerminal(ctx context.Context, c core.Caller, p ahp.CreateTerminalParams) error {
	info := hub.ChannelInfo{URI: p.Channel, Kind: ahp.ChannelTerminal}
	if claim, ok := p.Claim.Value.(*ahp.TerminalSessionClaim); ok {
		info.Session, info.Chat = claim.Session, claim.Chat
	} else {
		info.Session = c.Session // a guest's terminals belong to the one session it sees, or to its chat
		if c.Scope.IsChat() {
			info.Chat = c.Scope.URI
		}
	}
	if err := core.MayCall(c, "createTerminal", info); err != nil {
		return err
	}
	if err := h.checkTerminal(c, p); err != nil {
		return err
	}
	spec, err := h.terminalSpec(ctx, c, info.Session, p)
	if err != nil {
		return err
	}
	if _, err = h.startTerminal(info, p.Claim, spec, false); err != nil || info.Session == "" {
		return err
	}
	return h.core.Hub.Do(func(tx *hub.Tx) { h.reconsider(tx, info.Session) })
}

// checkTerminal checks the URI and the claim.
func (h *Host) checkTerminal(c core.Caller, p ahp.CreateTerminalParams) error {
	if _, taken := h.core.Hub.Info(p.Channel); taken {
		return ahp.Errorf(ahp.CodeAlreadyExists, "%s is taken: choose another URI", p.Channel)
	}
	if err := h.checkNewURI(p.Channel); err != nil {
		return core.BadParams("channel: %.80q cannot be a terminal's URI; use one like ahp-terminal:/<uuid>", p.Channel)
	}
	switch claim := p.Claim.Value.(type) {
	case *ahp.TerminalClientClaim:
		if claim.ClientID != c.ClientID || claim.ClientID == "" {
			return core.BadParams("claim.clientId: %q is not the clientId of this connection (%q)", claim.ClientID, c.ClientID)
		}
	case *ahp.TerminalSessionClaim:
		if h.core.Catalogue.Alive(claim.Session) == nil {
			return core.NoSession(claim.Session)
		}
	default:
		return core.BadParams("claim: a terminal always has an owner: name a client or a session")
	}
	return nil
}

// terminalSpec is what to start: a shell in the directory asked for, which for a guest
// lies in the session's, else in the session's first one.
func (h *Host) terminalSpec(ctx context.Context, c core.Caller, session ahp.URI, p ahp.CreateTerminalParams) (machine.TerminalSpec, error) {
	spec := machine.TerminalSpec{Dir: h.cfg.DefaultDir, Title: texts.CutBytes(texts.OneLine(p.Name), core.MaxTitle), Shell: askedShell(p)}
	if spec.Shell != "" && !slices.Contains(h.Shells(), spec.Shell) {
		return spec, core.BadParams("%.40q is no shell of this machine: ask for one of %s", spec.Shell, strings.Join(h.Shells(), ", "))
	}
	if p.Cols != nil || p.Rows != nil {
		spec.Cols, spec.Rows = sizeOr(p.Cols, machine.DefaultCols), sizeOr(p.Rows, machine.DefaultRows)
		if err := machine.CheckTerminalSize(spec.Cols, spec.Rows); err != nil {
			return spec, core.BadParams("%s", err)
		}
	}
	dirs, err := h.sessionDirs(ctx, session)
	if err != nil {
		return spec, err
	}
	if len(dirs) > 0 {
		spec.Dir = dirs[0]
	}
	if p.Cwd == "" {
		return spec, nil
	}
	dir, err := existingDir(p.Cwd)
	switch {
	case err != nil:
		return spec, core.BadParams("cwd: %.200q is not a directory of this machine: check the path", p.Cwd)
	case !c.IsOwner() && !within(dirs, dir):
		return spec, ahp.Errorf(ahp.CodePermissionDenied, "%s is outside of this session's directories", dir)
	}
	spec.Dir = dir
	return spec, h.checkPlace(session, "cwd", dir)
}

// askedShell reads which shell somebody wants, in the host's own key of `_meta`: the protocol has no field for it.
func askedShell(p ahp.CreateTerminalParams) string {
	var own struct {
		Shell string `json:"shell"`
	}
	_ = json.Unmarshal(p.Meta["ahphub"], &own) // absent: the person's own
	return own.Shell
}

func sizeOr(n *int64, def int) int {
	if n == nil {
		return def
	}
	return int(min(max(*n, 0), 1<<20))
}

// sessionDirs are the local directories of a session; none for "".
func (h *Host) sessionDirs(ctx context.Context, session ahp.URI) ([]string, error) {
	if session == "" {
		return nil, nil
	}
	if err := h.core.Ensure(ctx, session); err != nil {
		return nil, core.NoSession(session)
	}
	s, ok := hub.StateOf[*ahp.SessionState](h.core.Hub, session)
	if !ok {
		return nil, core.NoSession(session)
	}
	return core.LocalPaths(s.WorkingDirectories), nil
}

// within tells whether dir, wherever links lead it, lies in one of dirs.
func within(dirs []string, dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(dirs, func(d string) bool {
		d, err := filepath.EvalSymlinks(d)
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(d, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}

// DisposeTerminal kills what runs in a terminal and takes the terminal away (AHP
// requirement 166). One that another client holds only the owner may dispose.
func (h *Host) DisposeTerminal(_ context.Context, c core.Caller, p ahp.DisposeTerminalParams) error {
	info, known := h.core.Hub.Info(p.Channel)
	if !known || info.Kind != ahp.ChannelTerminal {
		return core.NoChannel(p.Channel)
	}
	if err := core.MayCall(c, "disposeTerminal", info); err != nil {
		return err
	}
	if s, ok := hub.StateOf[*ahp.TerminalState](h.core.Hub, p.Channel); ok {
		if holder, held := s.Claim.Value.(*ahp.TerminalClientClaim); held && holder.ClientID != c.ClientID && !c.IsOwner() {
			return ahp.Errorf(ahp.CodePermissionDenied, "another client holds this terminal: ask it to close the terminal")
		}
	}
	return h.closeTerminal(p.Channel)
}

// closeTerminal kills and forgets a terminal, and closes its channel.
func (h *Host) closeTerminal(uri ahp.URI) error {
	if t := h.terms.remove(uri); t != nil {
		t.kill()
	}
	return h.core.Hub.Do(func(tx *hub.Tx) { h.forgetTerminal(tx, uri) })
}

func (h *Host) forgetTerminal(tx *hub.Tx, uri ahp.URI) {
	info, _ := tx.Info(uri)
	tx.Close(uri)
	tx.Record(bucketTerminals, uri, nil)
	tx.Record(bucketPrinted, uri, nil)
	h.listTerminal(tx, uri)
	h.reconsider(tx, info.Session)
}

// closeTerminals takes the terminals of a disposed session away; their programs are
// killed right after.
func (h *Host) closeTerminals(tx *hub.Tx, session ahp.URI) {
	root, ok := hub.StateOf[*ahp.RootState](tx, ahp.RootURI)
	if !ok {
		return
	}
	for _, info := range root.Terminals {
		if ch, open := tx.Info(info.Resource); !open || ch.Session != session {
			continue
		}
		h.forgetTerminal(tx, info.Resource)
		if t := h.terms.remove(info.Resource); t != nil {
			tx.Effect(info.Resource, func(context.Context) { t.kill() })
		}
	}
}

// stopTerminals ends all programs when the host stops; what they wrote is kept.
func (h *Host) stopTerminals() {
	var wg sync.WaitGroup
	for _, t := range h.terms.list(func(*term) bool { return true }) {
		wg.Go(t.kill)
	}
	wg.Wait()
}

// listTerminal brings one terminal's entry in the root state up to date (AHP
// requirement 61); a closed one leaves it.
func (h *Host) listTerminal(tx *hub.Tx, uri ahp.URI) {
	root, ok := hub.StateOf[*ahp.RootState](tx, ahp.RootURI)
	if !ok {
		return
	}
	list := slices.Clone(root.Terminals)
	i := slices.IndexFunc(list, func(t ahp.TerminalInfo) bool { return t.Resource == uri })
	s, open := hub.StateOf[*ahp.TerminalState](tx, uri)
	switch {
	case open && i >= 0:
		list[i] = terminalInfo(uri, s)
	case open:
		list = append(list, terminalInfo(uri, s))
	case i >= 0:
		list = slices.Delete(list, i, i+1)
	}
	if list == nil {
		list = []ahp.TerminalInfo{}
	}
	tx.Apply(ahp.RootURI, &ahp.RootTerminalsChangedAction{Terminals: list})
}

func terminalInfo(uri ahp.URI, s *ahp.TerminalState) ahp.TerminalInfo {
	return ahp.TerminalInfo{Resource: uri, Title: s.Title, Claim: s.Claim, Lifecycle: s.Lifecycle}
}

func newTerminalURI() ahp.URI { return "ahp-terminal:/" + ids.New() }

func (h *Host) shellTitle(spec machine.TerminalSpec) string {
	if spec.Title != "" {
		return spec.Title
	}
	return fmt.Sprintf("%s in %s", cmp.Or(spec.Shell, h.Shells()[0]), filepath.Base(spec.Dir))
}

// Shells returns the shells that a new terminal may ask for as `_meta.ahphub.shell`, the user's own first.
func (h *Host) Shells() []string { return h.cfg.Machine.Terminals().Shells() }

// Watch adds a viewer of a terminal, which the caller closes; nil when its program belongs to an earlier run, whose
// output is in the terminal's state.
func (h *Host) Watch(uri ahp.URI) machine.TerminalViewer {
	if p := h.program(uri); p != nil {
		return p.Watch()
	}
	return nil
}

func (h *Host) program(uri ahp.URI) machine.Terminal {
	if t := h.terms.get(uri); t != nil {
		return t.program()
	}
	return nil
}

// ScreenText returns what can be read on a terminal: its screen or, when its program belongs to an earlier run, what
// came of the text it printed.
func (h *Host) ScreenText(ctx context.Context, uri ahp.URI, printed string) string {
	if p := h.program(uri); p != nil {
		text, err := p.Text(ctx)
		if err == nil {
			return text
		}
		h.core.Log.Warn("a terminal's screen cannot be read", "terminal", uri, "err", err)
	}
	cols, rows := machine.DefaultCols, machine.DefaultRows
	if s, ok := hub.StateOf[*ahp.TerminalState](h.core.Hub, uri); ok {
		c, r := sizeOr(s.Cols, cols), sizeOr(s.Rows, rows)
		if machine.CheckTerminalSize(c, r) == nil {
			cols, rows = c, r
		}
	}
	return h.cfg.Machine.Terminals().DrawText(printed, cols, rows)
}
