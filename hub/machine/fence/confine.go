package fence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// confine returns a program's sandbox policy: the hub's, as far as this computer allows it. Equal policies of the hub
// give equal policies here, so that all programs of a session share a sandbox. otherwise applies to programs for which
// the hub has no policy.
func (f *Machine) confine(p *sandbox.Policy, otherwise sandbox.Policy) (*sandbox.Policy, error) {
	if !f.HasSandboxes() {
		if p != nil && !p.Auto {
			return nil, fmt.Errorf("this machine has no sandboxes, and the session is to have one. Choose another "+
				"machine, or start ahphub join there with --sandbox %s", p.Mode)
		}
		return nil, nil
	}
	if p == nil {
		p = &otherwise
		p.Auto, p.Network = true, sandbox.Open
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	mode, err := f.mode(p)
	if err != nil {
		return nil, err
	}
	out := &sandbox.Policy{Session: p.Session, Mode: mode}
	if mode == sandbox.Container {
		out.Image, out.Images = f.cfg.Rules.Image, f.cfg.Rules.Images
	}
	for _, list := range []struct{ from, to *[]string }{{&p.Write, &out.Write}, {&p.Read, &out.Read},
		{&p.Seal, &out.Seal}, {&p.Git, &out.Git}} {
		for _, path := range *list.from {
			real, err := f.enter(path)
			if err != nil {
				return nil, err
			}
			*list.to = append(*list.to, real)
		}
	}
	shown := f.shownTo(p.Session)
	out.Read = append(out.Read, f.cfg.Rules.Read...)
	for _, path := range shown.read {
		if !slices.Contains(out.Read, path) {
			out.Read = append(out.Read, path)
		}
	}
	out.Home, out.HomeRead = intersect(p.Home, shown.homeWrite), intersect(p.HomeRead, shown.homeRead)
	return out, f.connect(p, out, shown.hosts)
}

// HasSandboxes reports whether programs run in sandboxes on this computer.
func (f *Machine) HasSandboxes() bool { return f.cfg.Rules != nil && f.cfg.Rules.Works() }

// mode returns how this computer confines a session. A session that requires a mode gets that mode or, for Landlock,
// the stronger Namespace.
func (f *Machine) mode(p *sandbox.Policy) (sandbox.Mode, error) {
	asked := p.Mode
	if asked == "" {
		asked = sandbox.Namespace
	}
	own := f.cfg.Rules.Boxed
	switch {
	case asked == sandbox.Container && f.cfg.Rules.Image != "":
		return asked, nil
	case p.Auto || asked == own || asked == sandbox.Landlock && own == sandbox.Namespace:
		return own, nil
	}
	return "", fmt.Errorf("this machine has no sandbox %q, which the session is to have. It offers %s: choose it in the "+
		"session's settings, or another machine", asked, own)
}

// mostShown bounds the sessions for which the fence remembers what their sandboxes show.
const mostShown = 10_000

// shown is what a session's sandboxes show and reach of the agents here.
type shown struct {
	read                []string // the agents' programs
	homeWrite, homeRead []string // what the agents use of this user's home directory
	hosts               []string
}

// shownTo returns what a session's sandboxes show of the agents here: those that existed when its first sandbox was
// created. Another policy would mean a new sandbox, so installing an agent would end the session's programs.
func (f *Machine) shownTo(session string) *shown {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.shown[session]; s != nil {
		return s
	}
	s := &shown{}
	if f.cfg.Read != nil {
		s.read = f.cfg.Read()
	}
	for _, b := range f.Machine.Agents() {
		if k, ok := b.(agent.HomeKeeper); ok {
			w, r := k.HomePaths()
			s.homeWrite, s.homeRead = append(s.homeWrite, w...), slices.Concat(s.homeRead, r, w)
		}
		if o, ok := b.(agent.Online); ok {
			s.hosts = append(s.hosts, o.Hosts()...)
		}
	}
	slices.Sort(s.hosts)
	s.hosts = slices.Compact(s.hosts)
	if len(f.shown) < mostShown {
		f.shown[session] = s
	}
	return s
}

// connect gives a program the narrower of the hub's and this computer's network. Relays come from this computer only: a
// relay of the hub could reach any service here.
func (f *Machine) connect(p, out *sandbox.Policy, hosts []string) error {
	network := p.Network
	if slices.Index(sandbox.Networks, f.cfg.Rules.Network) > slices.Index(sandbox.Networks, network) {
		network = f.cfg.Rules.Network
	}
	if err := f.cfg.Rules.Connect(out, string(network), hosts); err != nil || network != sandbox.List {
		return err
	}
	switch {
	case f.cfg.Rules.Network != sandbox.List:
		out.Allow = p.Allow
	case p.Network == sandbox.List:
		out.Allow = intersect(p.Allow, out.Allow)
	}
	return nil
}

// intersect returns the strings in both lists, in the order of the first.
func intersect(a, b []string) (list []string) {
	for _, s := range a {
		if slices.Contains(b, s) {
			list = append(list, s)
		}
	}
	return list
}

// nameOf returns the name that the hub derives for what belongs to a session.
func nameOf(session string) string {
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:6])
}

// CheckSandbox returns why programs cannot run in a sandbox with a policy of the hub.
func (f *Machine) CheckSandbox(p *sandbox.Policy) error {
	if p == nil {
		return nil
	}
	there, err := f.confine(p, sandbox.Policy{})
	if err != nil || there == nil {
		return err
	}
	return f.Machine.CheckSandbox(there)
}

// Forget removes what a session's programs left on this computer outside of its directories.
func (f *Machine) Forget(session string) error {
	if !filepath.IsLocal(session) || filepath.Base(session) != session || session == "." {
		return errors.New("this is no name of a session")
	}
	f.mu.Lock()
	delete(f.shown, session)
	f.mu.Unlock()
	err := errors.Join(os.RemoveAll(filepath.Join(f.cfg.Data, session)), f.Machine.Forget(session))
	for _, box := range f.ownBoxes(session) {
		err = errors.Join(err, f.Machine.Forget(box))
	}
	return err
}

// ownBoxes returns the sandboxes that ownBox named for a session's terminals.
func (f *Machine) ownBoxes(session string) (boxes []string) {
	if f.cfg.Rules == nil {
		return nil
	}
	all, err := os.ReadDir(f.cfg.Rules.Dir)
	if err != nil {
		return nil // none was created
	}
	for _, e := range all {
		dir, is := strings.CutPrefix(e.Name(), "in-"+session+"-")
		if is && len(dir) == len(nameOf("")) {
			boxes = append(boxes, e.Name())
		}
	}
	return boxes
}
