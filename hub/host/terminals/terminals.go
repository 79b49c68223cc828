package terminals

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/texts"
)

// Create opens a shell in a terminal with the client's URI. The claim is required, as a terminal
// always has an owner (AHP requirement 162).
//
// Errors: -32602 the claim, directory or size is invalid or the shell does not start, -32010 the
// URI is taken, -32001 no such session, -32009 not allowed.
func (p *Part) Create(ctx context.Context, c core.Caller, params ahp.CreateTerminalParams) error {
	info := hub.ChannelInfo{URI: params.Channel, Kind: ahp.ChannelTerminal}
	if claim, ok := params.Claim.Value.(*ahp.TerminalSessionClaim); ok {
		info.Session, info.Chat = claim.Session, claim.Chat
	} else {
		info.Session = c.Session // a guest's terminals belong to the guest's session or chat
		if c.Scope.IsChat() {
			info.Chat = c.Scope.URI
		}
	}
	if err := c.MayCall("createTerminal", info); err != nil {
		return err
	}
	if err := p.checkNew(c, params); err != nil {
		return err
	}
	spec, err := p.specFor(ctx, c, info.Session, params)
	if err != nil {
		return err
	}
	unconfined := requested(params).Sandbox == string(sandbox.None)
	if unconfined && !c.IsOwner() {
		return ahp.Errorf(ahp.CodePermissionDenied, "only the owner can open a terminal without a sandbox")
	}
	if _, err = p.start(info, params.Claim, spec, kind{given: c.IsOwner(), unconfined: unconfined}); err != nil || info.Session == "" {
		return err
	}
	return p.core.Hub.Do(func(tx *hub.Tx) { p.cfg.Reconsider(tx, info.Session) })
}

// checkNew validates the URI and the claim of a new terminal.
func (p *Part) checkNew(c core.Caller, params ahp.CreateTerminalParams) error {
	if err := p.cfg.CheckURI(params.Channel); err != nil {
		return err
	}
	if _, taken := p.core.Hub.Info(params.Channel); taken {
		return ahp.Errorf(ahp.CodeAlreadyExists, "%s is taken. Choose another URI", params.Channel)
	}
	switch claim := params.Claim.Value.(type) {
	case *ahp.TerminalClientClaim:
		if claim.ClientID != c.ClientID || claim.ClientID == "" {
			return core.BadParams("claim.clientId: %q is not the clientId of this connection (%q)", claim.ClientID,
				c.ClientID)
		}
	case *ahp.TerminalSessionClaim: // specFor checks the session
	default:
		return core.BadParams("claim: a terminal always has a holder. Name a client or a session")
	}
	return nil
}

// specFor returns the spec of the shell: in the requested directory, which for a guest must be
// inside the session's, else in the session's first directory.
func (p *Part) specFor(ctx context.Context, c core.Caller, session ahp.URI, params ahp.CreateTerminalParams) (
	machine.TerminalSpec, error,
) {
	spec := machine.TerminalSpec{Dir: p.cfg.DefaultDir, Shell: requested(params).Shell,
		Title: texts.CutBytes(texts.OneLine(params.Name), core.MaxTitle)}
	if known := p.Shells(); spec.Shell != "" && !slices.Contains(known, spec.Shell) {
		return spec, core.BadParams("%.40q is not a shell of this server. Choose one of %s",
			spec.Shell, strings.Join(known, ", "))
	}
	if params.Cols != nil || params.Rows != nil {
		spec.Cols, spec.Rows = sizeOr(params.Cols, machine.DefaultCols), sizeOr(params.Rows, machine.DefaultRows)
		if err := machine.CheckTerminalSize(spec.Cols, spec.Rows); err != nil {
			return spec, core.BadParams("%s", err)
		}
	}
	var dirs []string
	if session != "" {
		var err error
		if dirs, err = p.cfg.Directories(ctx, session); err != nil {
			return spec, err
		}
	}
	if len(dirs) > 0 {
		spec.Dir = dirs[0]
	}
	if params.Cwd == "" {
		return spec, nil
	}
	dir, err := p.cfg.Directory(ctx, params.Cwd)
	switch {
	case err != nil:
		return spec, core.BadParams("cwd: %.200q is not a directory on this server. Check the path", params.Cwd)
	case !c.IsOwner() && !p.liesIn(ctx, dirs, dir):
		return spec, ahp.Errorf(ahp.CodePermissionDenied, "%s is outside of this session's directories", dir)
	}
	spec.Dir = dir
	return spec, p.cfg.CheckPlace(ctx, session, "cwd", dir)
}

// request is what `_meta` requests for a new terminal under the host's own key, as the protocol has
// no fields for it.
type request struct {
	Shell   string `json:"shell"`   // "": the user's default
	Sandbox string `json:"sandbox"` // none: outside the session's sandbox
}

func requested(params ahp.CreateTerminalParams) (own request) {
	_ = json.Unmarshal(params.Meta["ahphub"], &own) // absent: defaults
	return own
}

// IsUnconfined reports whether a terminal's program runs outside the session's sandbox.
func (p *Part) IsUnconfined(uri ahp.URI) bool {
	t := p.get(uri)
	return t != nil && t.unconfined
}

func sizeOr(n *int64, def int) int {
	if n == nil {
		return def
	}
	return int(min(max(*n, 0), 1<<20))
}

// liesIn reports whether dir is inside one of dirs, with symbolic links resolved.
func (p *Part) liesIn(ctx context.Context, dirs []string, dir string) bool {
	real := p.cfg.Files.RealPaths(ctx, append([]string{dir}, dirs...))
	return real[0] != "" && slices.ContainsFunc(real[1:], func(d string) bool {
		rel, err := filepath.Rel(d, real[0])
		return d != "" && err == nil && filepath.IsLocal(rel)
	})
}

// Dispose kills a terminal's program and removes the terminal (AHP requirement 166). Only the owner
// may dispose a terminal that another client holds.
func (p *Part) Dispose(_ context.Context, c core.Caller, params ahp.DisposeTerminalParams) error {
	info, known := p.core.Hub.Info(params.Channel)
	if !known || info.Kind != ahp.ChannelTerminal {
		return core.NoChannel(params.Channel)
	}
	if err := c.MayCall("disposeTerminal", info); err != nil {
		return err
	}
	if s, ok := hub.StateOf[*ahp.TerminalState](p.core.Hub, params.Channel); ok {
		if holder, held := s.Claim.Value.(*ahp.TerminalClientClaim); held && holder.ClientID != c.ClientID &&
			!c.IsOwner() {
			return ahp.Errorf(ahp.CodePermissionDenied,
				"another client holds this terminal: ask it to close the terminal")
		}
	}
	return p.dispose(params.Channel)
}

// dispose kills and removes a terminal, and closes its channel.
func (p *Part) dispose(uri ahp.URI) error {
	if t := p.remove(uri); t != nil {
		t.kill()
	}
	return p.core.Hub.Do(func(tx *hub.Tx) { p.forget(tx, uri) })
}

// forget closes a terminal's channel and deletes its records in a step.
func (p *Part) forget(tx *hub.Tx, uri ahp.URI) {
	info, _ := tx.Info(uri)
	tx.Close(uri)
	tx.Record(bucketTerminals, uri, nil)
	tx.Record(bucketPrinted, uri, nil)
	p.listInRoot(tx, uri)
	p.cfg.Reconsider(tx, info.Session)
}

// CloseSession removes a disposed session's terminals in its step, and kills their programs once
// that is durable.
func (p *Part) CloseSession(tx *hub.Tx, session ahp.URI) {
	root, ok := hub.StateOf[*ahp.RootState](tx, ahp.RootURI)
	if !ok {
		return
	}
	for _, info := range root.Terminals {
		if ch, open := tx.Info(info.Resource); !open || ch.Session != session {
			continue
		}
		p.forget(tx, info.Resource)
		if t := p.remove(info.Resource); t != nil {
			tx.Effect(info.Resource, func(context.Context) { t.kill() })
		}
	}
}

// listInRoot updates or removes a terminal's entry in the root state (AHP requirement 61).
func (p *Part) listInRoot(tx *hub.Tx, uri ahp.URI) {
	root, ok := hub.StateOf[*ahp.RootState](tx, ahp.RootURI)
	if !ok {
		return
	}
	list := slices.Clone(root.Terminals)
	i := slices.IndexFunc(list, func(t ahp.TerminalInfo) bool { return t.Resource == uri })
	s, open := hub.StateOf[*ahp.TerminalState](tx, uri)
	switch {
	case open && i >= 0:
		list[i] = infoOf(uri, s)
	case open:
		list = append(list, infoOf(uri, s))
	case i >= 0:
		list = slices.Delete(list, i, i+1)
	}
	if list == nil {
		list = []ahp.TerminalInfo{}
	}
	tx.Apply(ahp.RootURI, &ahp.RootTerminalsChangedAction{Terminals: list})
}

func infoOf(uri ahp.URI, s *ahp.TerminalState) ahp.TerminalInfo {
	return ahp.TerminalInfo{Resource: uri, Title: s.Title, Claim: s.Claim, Lifecycle: s.Lifecycle}
}

func newURI() ahp.URI { return "ahp-terminal:/" + ids.New() }

func (p *Part) shellTitle(spec machine.TerminalSpec) string {
	if spec.Title != "" {
		return spec.Title
	}
	return fmt.Sprintf("%s in %s", cmp.Or(spec.Shell, p.Shells()[0]), filepath.Base(spec.Dir))
}

// Shells returns the shells that `_meta.ahphub.shell` may name, the user's default first.
func (p *Part) Shells() []string { return p.cfg.Machine.Shells() }

// AddViewer adds a viewer of a terminal, which the caller must close. It returns nil if the program
// belongs to an earlier run, whose output is in the terminal's state.
func (p *Part) AddViewer(uri ahp.URI) machine.TerminalViewer {
	if program := p.program(uri); program != nil {
		return program.Watch()
	}
	return nil
}

// ScreenText returns the text on a terminal's screen. If the program belongs to an earlier run, it
// renders the text from printed.
func (p *Part) ScreenText(ctx context.Context, uri ahp.URI, printed string) string {
	if program := p.program(uri); program != nil {
		text, err := program.Text(ctx)
		if err == nil {
			return text
		}
		p.core.Log.Warn("a terminal's screen cannot be read", "terminal", uri, "err", err)
	}
	cols, rows := machine.DefaultCols, machine.DefaultRows
	if s, ok := hub.StateOf[*ahp.TerminalState](p.core.Hub, uri); ok {
		c, r := sizeOr(s.Cols, cols), sizeOr(s.Rows, rows)
		if machine.CheckTerminalSize(c, r) == nil {
			cols, rows = c, r
		}
	}
	return p.cfg.Machine.DrawText(printed, cols, rows)
}
