package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/replica"
	"github.com/ahphub/ahphub/web/gateway"
)

// handover is a request to end the term so that another node leads.
type handover struct {
	to   string // name of the next leader; "": any node that is up to date
	done chan<- error
}

// leadTerms leads in each term of this node, until ctx is canceled or the node stops.
func (n *node) leadTerms(ctx context.Context) error {
	for {
		select {
		case term, ok := <-n.raft.Terms():
			if ok {
				if err := n.leadTerm(ctx, term); err != nil {
					return err
				}
				continue
			}
			return n.raft.Err()
		case <-n.raft.Done():
			return n.raft.Err()
		case <-ctx.Done():
			return nil
		}
	}
}

// leadTerm runs the hub in a term. When the program stops, it transfers leadership first.
func (n *node) leadTerm(ctx context.Context, term *cluster.Term) error {
	for {
		next, err := n.leadOnce(ctx, term)
		if next.done != nil && ctx.Err() == nil && errors.Is(err, context.Canceled) {
			err = nil // requested while the hub started
		}
		if term.Context().Err() != nil {
			n.log.Info("this node no longer leads", "term", term.Number, "err", err)
			if next.done != nil {
				next.done <- cluster.ErrDeposed
			}
			return nil
		}
		if ctx.Err() != nil || err != nil || next.done == nil {
			if next.done != nil {
				next.done <- errors.Join(errors.New("this node is stopping"), err)
			}
			if handed := n.raft.Transfer(); handed == nil {
				n.log.Info("another node leads now")
			} else {
				n.log.Warn("no other node took over before this one stopped", "err", handed)
			}
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				return nil // stopped while it started to lead
			}
			return err
		}
		err = n.transferTo(next.to)
		next.done <- err
		if err != nil {
			n.log.Warn("cannot hand over leadership", "err", err)
		}
		if term.Context().Err() != nil { // if the transfer failed, another term follows
			return nil
		}
	}
}

// leadOnce runs the hub until the term ends, ctx is canceled, or a handover is requested.
func (n *node) leadOnce(ctx context.Context, term *cluster.Term) (next handover, err error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	over, confirm := hooks.term(term)
	defer context.AfterFunc(over, end)()
	var once sync.Once
	n.setHandover(func(h handover) {
		took := false
		once.Do(func() { next, took = h, true; end() })
		if !took {
			h.done <- errors.New("a handover is already in progress")
		}
	})
	defer func() {
		n.setHandover(nil)
		n.setLeading(nil)
		once.Do(func() {}) // waits for a handover requested at the last moment
	}()
	began := time.Now()
	set, release, err := n.set.forTerm()
	defer release()
	if err != nil {
		return next, err
	}
	a, err := build(ctx, n.cfg, set, n.l, n.log, n.tel, &leading{store: n.state.Store(),
		append: hooks.append(replica.Append(term)), confirm: confirm, nodes: n.admin, keys: n.keys, copies: n.offerKeys})
	if err != nil {
		return next, err
	}
	if err := n.openAuthority(ctx, a); err != nil {
		return next, errors.Join(err, a.drop())
	}
	parts := []func(context.Context) error{
		func(ctx context.Context) error { n.pilot(ctx, a); return nil },
		func(ctx context.Context) error { n.watchNodes(ctx, a); return nil },
		func(ctx context.Context) error { n.keepCertificates(ctx); return nil },
		func(ctx context.Context) error { n.handOverReadOnly(ctx, a); return nil },
		func(hub context.Context) error {
			at := a.web.Attach()
			n.gateway.Attach(gateway.Hub{Server: at, Trunks: http.HandlerFunc(a.pages.Live.ServeTrunk), Ready: a.ready})
			select {
			case <-ctx.Done():
			case <-hub.Done():
			}
			n.gateway.Detach()
			at.Detach() // while the hub still answers open requests
			return nil
		},
	}
	if set.secured != nil {
		parts = append(parts, func(ctx context.Context) error { return a.web.ServeAgents(ctx, set.secured.agents) })
	}
	err = a.serve(context.WithoutCancel(ctx), func(context.Context) error {
		n.setLeading(a)
		n.log.Info("this node leads", "term", term.Number, "took", time.Since(began))
		return n.printSignIn(ctx, a)
	}, parts...)
	return next, errors.Join(err, a.close())
}

func (n *node) setHandover(ask func(handover)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requestHandover = ask
}

// setLeading sets the app of this term; nil: this node stops leading.
func (n *node) setLeading(a *app) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.app = a
	if a == nil {
		n.admin.Lead(nil)
		return
	}
	n.admin.Lead(a.authority)
}

// leading returns the app of this term; nil while this node does not lead.
func (n *node) leading() *app {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.app
}

func (n *node) transferTo(name string) error {
	if name == "" {
		return n.raft.Transfer()
	}
	for _, m := range n.peers.Members() {
		if m.Name == name {
			return n.raft.TransferTo(m.Name, m.Address)
		}
	}
	return fmt.Errorf("%s is not a node of this cluster", name)
}

// transfer transfers leadership to a node; "" is any node that is up to date.
func (n *node) transfer(ctx context.Context, to string) error {
	n.mu.Lock()
	ask := n.requestHandover
	n.mu.Unlock()
	if ask == nil {
		return gateway.ErrNotLeading
	}
	done := make(chan error, 1)
	ask(handover{to, done})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	readOnlyTime  = 2 * time.Second // that the hub is read-only before a handover
	readOnlyEvery = 250 * time.Millisecond
	readOnlyAgain = time.Minute // between handovers: all disks may be full
)

// handOverReadOnly requests a handover when this node cannot write, because its disk is full or
// failing. While no other voter is up, this node keeps leading, read-only: ending its hub would
// only interrupt turns.
func (n *node) handOverReadOnly(ctx context.Context, a *app) {
	var since time.Time
	for {
		select {
		case <-time.After(readOnlyEvery):
		case <-ctx.Done():
			return
		}
		err := a.hub.ReadOnly()
		switch {
		case err == nil:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= readOnlyTime && time.Since(n.lastHandover) >= readOnlyAgain:
			to, noOther := n.admin.Successor(ctx, "")
			if noOther != nil {
				since = time.Now() // try again later
				n.log.Debug("this node cannot write, and no other node can lead", "err", noOther)
				continue
			}
			n.log.Warn("this node cannot write and hands over leadership", "err", err, "to", to)
			n.lastHandover = time.Now()
			n.mu.Lock()
			ask := n.requestHandover
			n.mu.Unlock()
			if ask != nil {
				ask(handover{to: to, done: make(chan error, 1)})
			}
			return
		}
	}
}
