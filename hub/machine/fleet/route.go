package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/machine/place"
	"github.com/ahphub/ahphub/hub/sandbox"
)

var (
	_ machine.Machine = (*Route)(nil)
	_ machine.Watcher = (*Route)(nil)
)

// Route reaches the hub's own computer and the members by the paths of JoinPath. Each call goes to one computer.
type Route struct {
	own     machine.Machine
	members Members

	once      sync.Once
	agents    map[string]*ownAgent // of the hub's own computer
	later     later
	ctx       context.Context // ends with Close
	end       context.CancelFunc
	keeper    keeper
	described sync.Map // last descriptions of members' agents, by memberAgent: ahp.AgentInfo
}

// NewRoute returns a route to a hub's own computer and to its members. The caller must close it.
func NewRoute(own machine.Machine, members Members, opts ...Option) *Route {
	r := &Route{own: own, members: members}
	r.keeper.log = slog.New(slog.DiscardHandler)
	for _, opt := range opts {
		opt(r)
	}
	r.ctx, r.end = context.WithCancel(context.Background())
	r.keeper.ctx = r.ctx
	return r
}

// Option configures a Route.
type Option func(*Route)

// WithKept stores both sides of members' changes, for when they are offline.
func WithKept(store Kept, log *slog.Logger) Option {
	return func(r *Route) { r.keeper.store, r.keeper.log = store, log }
}

// Close stops waiting for members and storing their changes. It drops the tasks of offline members.
func (r *Route) Close() {
	r.end()
	r.keeper.close()
}

// Watch returns a channel that receives a value when the agents of members may have changed, until cancel. It
// implements machine.Watcher.
func (r *Route) Watch() (changed <-chan struct{}, cancel func()) { return r.members.Watch() }

// CheckSandbox returns why programs cannot run under a policy on the computer of its paths.
func (r *Route) CheckSandbox(p *sandbox.Policy) error {
	n, there, err := r.policy(p)
	if err != nil {
		return err
	}
	return n.explain(n.CheckSandbox(there))
}

// Forget removes what a session's programs left outside of its directories, on each computer, as the session's members
// are not known here. A member that is offline does so after it reconnects.
func (r *Route) Forget(session string) error {
	members := r.onMembers(func(n node) error { return n.Forget(session) })
	return errors.Join(r.own.Forget(session), members)
}

// node is one computer.
type node struct {
	machine.Machine
	id, name string // "" for the hub's own
}

// node returns the computer with an id, or an error while it is offline.
func (r *Route) node(id string) (node, error) {
	if id == "" {
		return node{Machine: r.own}, nil
	}
	n, online, err := r.member(id)
	if err == nil && !online {
		err = n.explain(machine.ErrOffline)
	}
	if err != nil {
		return node{}, err
	}
	return n, nil
}

// member returns the member with an id.
func (r *Route) member(id string) (n node, online bool, err error) {
	for _, m := range r.members.Machines() {
		if m.ID == id {
			return node{m.Machine, m.ID, m.Name}, m.Online, nil
		}
	}
	return node{}, false, ahp.Errorf(ahp.CodeNotFound,
		"there is no machine %s, or not any more: it may have been revoked", id)
}

// path returns the computer of a path, and the path there. "" is the hub's own directory.
func (r *Route) path(p string) (n node, there string, err error) {
	id := ""
	if p != "" {
		if id, there, err = place.SplitPath(p); err != nil {
			return node{}, "", err
		}
	}
	n, err = r.node(id)
	return n, there, err
}

// uri returns the computer of a URI, and the URI there.
func (r *Route) uri(uri ahp.URI) (n node, there ahp.URI, err error) {
	id, there, err := place.SplitURI(uri)
	if err != nil {
		return node{}, "", err
	}
	n, err = r.node(id)
	return n, there, err
}

// policy returns the computer of a policy's paths, and the policy there. A policy without paths belongs to the hub's
// own computer.
func (r *Route) policy(p *sandbox.Policy) (node, *sandbox.Policy, error) {
	id := ""
	if p != nil && len(p.Write) > 0 {
		on, _, err := place.SplitPath(p.Write[0])
		if err != nil {
			return node{}, nil, err
		}
		id = on
	}
	there, err := splitPolicy(id, p)
	if err != nil {
		return node{}, nil, err
	}
	n, err := r.node(id)
	return n, there, err
}

// splitPolicy returns a policy in a computer's spelling. It refuses paths of other computers. It drops paths that the
// hub opens on its own computer for all programs: members have their own.
func splitPolicy(id string, p *sandbox.Policy) (*sandbox.Policy, error) {
	if p == nil {
		return nil, nil
	}
	there := *p
	for _, list := range []*[]string{&there.Write, &there.Read, &there.Seal, &there.Git} {
		var inside []string
		for _, path := range *list {
			on, at, err := place.SplitPath(path)
			switch {
			case err != nil:
				return nil, err
			case on == "" && on != id && list == &there.Read:
				continue
			case on != id:
				return nil, errTwoMachines
			}
			inside = append(inside, at)
		}
		*list = inside
	}
	return &there, nil
}

// errTwoMachines refuses a call that involves two computers.
var errTwoMachines = ahp.Errorf(ahp.CodeInvalidParams,
	"this is about two machines at once. Choose files and directories of one machine")

// offlineError is machine.ErrOffline with the name of the machine.
type offlineError struct{ name string }

func (e *offlineError) Error() string {
	return fmt.Sprintf("the machine %s is offline. Try again when it is back", e.name)
}

func (e *offlineError) Unwrap() error { return machine.ErrOffline }

// explain returns an error of a computer in the hub's terms: with the machine's name, and with the URIs in asked in the
// hub's spelling.
func (n node) explain(err error, asked ...ahp.URI) error {
	if err == nil || n.id == "" {
		return err
	}
	if errors.Is(err, machine.ErrOffline) {
		return &offlineError{n.name}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if e, ok := errors.AsType[*ahp.Error](err); ok {
		return &ahp.Error{Code: e.Code, Message: n.rename(e.Message, asked), Data: e.Data}
	}
	return fmt.Errorf("on the machine %s: %w", n.name, err)
}

// rename replaces URIs, and the paths that they name, with the hub's spelling in a text.
func (n node) rename(text string, asked []ahp.URI) string {
	var pairs []string
	for _, uri := range asked {
		u, err := url.Parse(uri)
		joined, errURI := place.JoinURI(n.id, uri)
		if err != nil || errURI != nil || u.Scheme != "file" || u.Path == "/" {
			continue // "/" is in every path
		}
		pairs = append(pairs, uri, joined)
		if p, err := place.JoinPath(n.id, u.Path); err == nil {
			pairs = append(pairs, u.Path, p)
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// messageOf returns an error's text for people.
func messageOf(err error) string {
	if e, ok := errors.AsType[*ahp.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
