package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/manage"
	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/cluster/replica"
	"github.com/ahphub/ahphub/hub/secret"
	"github.com/ahphub/ahphub/hub/store"
	"github.com/ahphub/ahphub/hub/telemetry"
	"github.com/ahphub/ahphub/static"
	"github.com/ahphub/ahphub/web"
)

// clusterConfig configures a node of a cluster.
type clusterConfig struct {
	Cluster        bool   `help:"Serve as a node of a cluster. A data directory that is no node's yet becomes the first node of a new cluster."`
	ClusterName    string `placeholder:"NAME" help:"Name of this node in a new cluster. Default: its host name."`
	ClusterAddress string `placeholder:"HOST:PORT" help:"Address at which the other nodes reach this one, in a new cluster."`
	ClusterListen  string `placeholder:"HOST:PORT" help:"Address to listen on for other nodes. Default: the one at which they reach this node."`
}

// batchVersion is of what the hub's journal writes. A node applies what its version and those before it wrote.
const batchVersion = 1

const transferTime = 10 * time.Second

// nodeHooks change what a node does. Only tests of faults set any.
type nodeHooks struct {
	config func(*cluster.Config)
	opened func(*node)
	append func(store.Append) store.Append
	term   func(*cluster.Term) (over context.Context, confirm func() error)
}

var hooks = nodeHooks{config: func(*cluster.Config) {}, opened: func(*node) {},
	append: func(a store.Append) store.Append { return a },
	term:   func(t *cluster.Term) (context.Context, func() error) { return t.Context(), t.Confirm }}

func (c clusterConfig) check(bad func(name string, value any, allowed string)) {
	if !c.Cluster {
		if c.ClusterName != "" || c.ClusterAddress != "" || c.ClusterListen != "" {
			bad("cluster", c.Cluster, "settings of a cluster need --cluster, too")
		}
		return
	}
	if c.ClusterName != "" {
		if err := peers.CheckName(c.ClusterName); err != nil {
			bad("cluster-name", c.ClusterName, err.Error())
		}
	}
	if c.ClusterAddress != "" {
		if err := peers.CheckAddress(c.ClusterAddress); err != nil {
			bad("cluster-address", c.ClusterAddress, err.Error())
		}
	}
	if c.ClusterListen != "" && !isAddress(c.ClusterListen) {
		bad("cluster-listen", c.ClusterListen, "use host:port, as in 0.0.0.0:8138")
	}
}

// refuseMember refuses to serve a node's directory without its cluster.
func refuseMember(data string) error {
	if !peers.IsNode(data) {
		return nil
	}
	return fmt.Errorf("%s belongs to a node of a cluster, and must not change without the others. Serve it with --cluster, "+
		"or make a copy for a separate server: ahphub cluster detach --data %[1]s NEW-DIRECTORY", data)
}

// node is this program as a node of a cluster. What it has for good is here; the hub of a term is an app.
type node struct {
	cfg    Config
	set    settings
	l      net.Listener
	log    *slog.Logger
	tel    *telemetry.Telemetry
	stdout io.Writer

	peers *peers.Node
	port  *peers.Listener
	state *replica.State
	raft  *cluster.Raft
	front *clusterFront
	calls *http.Transport // to other nodes
	admin *manage.Manager
	keys  *secret.Keys // of secrets

	member  bool          // the log that was applied has had this node; of keepMembers
	removed chan struct{} // closed when it has it no more

	mu     sync.Mutex
	over   func(handover) // asks the hub of this term to end; nil: this node does not lead
	app    *app           // of this term; nil: this node does not lead
	signIn bool           // a link to sign in was printed
}

// handover asks for the term to end, for another node to lead.
type handover struct {
	to   string // name of the node; "": any that is up to date
	done chan<- error
}

// runNode serves as a node of a cluster until ctx ends.
func runNode(ctx context.Context, cfg Config, set settings, l net.Listener, log *slog.Logger, tel *telemetry.Telemetry,
	stdout io.Writer) error {
	n := &node{cfg: cfg, set: set, l: l, log: log, tel: tel, stdout: stdout}
	err := n.open(ctx)
	if err == nil {
		err = n.serve(ctx)
	}
	return errors.Join(err, n.close())
}

// open opens the data directory, and begins to take part in the cluster.
func (n *node) open(ctx context.Context) (err error) {
	n.removed = make(chan struct{})
	if err := n.forgetCluster(ctx); err != nil {
		return fmt.Errorf("the data directory %s cannot be used: %w", n.cfg.Data, err)
	}
	if n.state, err = replica.Open(ctx, storeConfig(n.cfg, n.log, n.tel)); err != nil {
		return fmt.Errorf("the data directory %s cannot be used: %w", n.cfg.Data, err)
	}
	if n.keys, err = n.cfg.Secrets.open(n.cfg.Data); err != nil {
		return err
	}
	n.keys.Share()
	n.shareCertificates()
	if err := n.openPeers(); err != nil {
		return err
	}
	n.calls = n.peers.Transport()
	n.front = newClusterFront(n.peers.Name(), web.NewHosts(n.l.Addr().String(), n.set.public, slices.Concat(n.cfg.AllowHost, n.cfg.TLS.ACME)),
		live.RelayConfig{Transport: n.calls, Public: publicAddress(n.set), Frames: findMemory().frames()}, n.log)
	if n.front.assets, err = static.New(); err != nil {
		return err
	}
	n.front.before = func(r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/signin" {
			return
		}
		if err := n.handSignIns(r.Context()); err != nil {
			n.log.Debug("links to sign in were not handed over", "err", err)
		}
	}
	config := cluster.Config{ID: n.peers.Name(), State: n.state, Version: batchVersion, Log: n.log}
	hooks.config(&config)
	n.raft, err = cluster.OpenDir(filepath.Join(peers.Dir(n.cfg.Data), "log"), n.port.StreamLayer(), config)
	if err != nil {
		return err
	}
	hooks.opened(n)
	n.admin = manage.New(manage.Config{Node: n.peers, Log: n.raft, Listener: n.port, Version: versionName(), Logger: n.log,
		Transfer: n.transfer, KeyID: n.keys.ID, TakeKeys: n.takeKeys})
	if members := n.peers.Members(); !n.raft.HasState() && len(members) == 1 && members[0].Name == n.peers.Name() {
		return n.raft.Bootstrap(map[string]string{n.peers.Name(): n.peers.Address()})
	}
	return nil
}

// openPeers opens the node that the data directory belongs to. A directory that belongs to none becomes the first node of
// a new cluster.
func (n *node) openPeers() (err error) {
	c := n.cfg.Cluster
	if !peers.IsNode(n.cfg.Data) {
		if c.ClusterAddress == "" {
			return errors.New("a new cluster needs --cluster-address: where other nodes reach this one, as in 10.0.0.1:8138. To " +
				"join a cluster that exists, run ahphub cluster join first")
		}
		if err := peers.Bootstrap(n.cfg.Data, cmp.Or(c.ClusterName, ownNodeName()), c.ClusterAddress); err != nil {
			return err
		}
	}
	if n.peers, err = peers.Open(n.cfg.Data); err != nil {
		return err
	}
	if c.ClusterName != "" && c.ClusterName != n.peers.Name() || c.ClusterAddress != "" && c.ClusterAddress != n.peers.Address() {
		return fmt.Errorf("this node is %s at %s, and both stay. Remove it from the cluster and join again to change them",
			n.peers.Name(), n.peers.Address())
	}
	at := cmp.Or(c.ClusterListen, n.peers.Address())
	if n.port, err = n.peers.Listen(at); err != nil {
		return fmt.Errorf("cannot listen for other nodes on %s: %w. Choose another address with --cluster-listen", at, err)
	}
	return nil
}

// close gives back what open opened.
func (n *node) close() error {
	var err error
	if n.raft != nil {
		err = n.raft.Close()
	}
	if n.port != nil {
		err = errors.Join(err, n.port.Close())
	}
	if n.calls != nil {
		n.calls.CloseIdleConnections()
	}
	if n.state != nil {
		err = errors.Join(err, n.state.Close())
	}
	return err
}

// serve answers visitors and nodes, and leads when it is elected, until ctx ends.
func (n *node) serve(ctx context.Context) error {
	at := addressesOf(n.l, n.set.public)
	if err := at.write(n.cfg.Data); err != nil {
		return err
	}
	printLine(n.stdout, "url", at.URL)
	printLine(n.stdout, "ahp", at.ahp())
	printLine(n.stdout, "data", n.cfg.Data)
	printLine(n.stdout, "cluster", n.peers.Cluster())
	printLine(n.stdout, "node", n.peers.Name())
	n.log.Info("serving as a node of a cluster", "url", at.URL, "node", n.peers.Name(), "address", n.peers.Address(),
		"cluster", n.peers.Cluster(), "version", versionName())
	ctx, end := context.WithCancel(ctx)
	defer end()
	around, endAround := context.WithCancel(context.WithoutCancel(ctx)) // until the hub has ended
	defer endAround()
	var front, back sync.WaitGroup
	var errs [6]error
	front.Go(func() { defer end(); errs[0] = n.front.serve(ctx, n.l, n.set.tls()) })
	back.Go(func() { defer end(); errs[1] = n.port.Serve(around, n.front.nodeHandler(n.routes())) })
	if n.set.secured != nil {
		front.Go(func() { defer end(); errs[2] = n.set.secured.serveRedirect(ctx, n.log, n.set.public) })
	}
	back.Go(func() { n.tel.Run(around) })
	back.Go(func() { n.watchLeader(around) })
	back.Go(func() { n.keepMembers(around) })
	back.Go(func() { n.keepSignIns(around) })
	back.Go(func() { n.admin.KeepFresh(around) })
	back.Go(func() { defer end(); errs[5] = n.watchRemoval(around) })
	back.Go(func() { defer end(); errs[4] = n.admin.Serve(around, n.cfg.Data) })
	errs[3] = n.leadTerms(ctx)
	end()
	front.Wait()
	endAround()
	back.Wait()
	return errors.Join(errs[:]...)
}

// watchLeader tells the front which node leads.
func (n *node) watchLeader(ctx context.Context) {
	changes, stop := n.raft.WatchLeader()
	defer stop()
	for {
		leader, _ := n.raft.Leader()
		n.front.follow(leader)
		select {
		case <-changes:
		case <-time.After(time.Second): // an observation may be dropped
		case <-ctx.Done():
			return
		}
	}
}

// leadTerms leads in each term of this node, until ctx ends or the node takes no further part.
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

// leadTerm runs the hub in a term. When the program ends, another node is asked to lead at once.
func (n *node) leadTerm(ctx context.Context, term *cluster.Term) error {
	for {
		next, err := n.leadOnce(ctx, term)
		if term.Context().Err() != nil {
			n.log.Info("this node leads no more", "term", term.Number, "err", err)
			if next.done != nil {
				next.done <- cluster.ErrDeposed
			}
			return nil
		}
		if ctx.Err() != nil || err != nil || next.done == nil {
			if next.done != nil {
				next.done <- errors.Join(errors.New("this node stops"), err)
			}
			if handed := n.raft.Transfer(); handed == nil {
				n.log.Info("another node leads now")
			}
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				return nil // it was stopped while it began to lead
			}
			return err
		}
		err = n.transferTo(next.to)
		if err == nil {
			select {
			case <-term.Context().Done():
			case <-time.After(transferTime):
				err = errors.New("this node still leads")
			}
		}
		next.done <- err
		if err == nil {
			return nil
		}
		n.log.Warn("no other node could take over", "err", err)
	}
}

// leadOnce runs the hub until the term ends, ctx does, or the node is asked to hand over.
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
			h.done <- errors.New("leadership is being handed over already")
		}
	})
	defer func() {
		n.setHandover(nil)
		n.setLeading(nil)
		once.Do(func() {}) // waits for one that was asked for at the last moment
	}()
	began := time.Now()
	set, release, err := n.set.forTerm()
	defer release()
	if err != nil {
		return next, err
	}
	a, err := build(ctx, n.cfg, set, n.l, n.log, n.tel, &leading{n.state.Store(), hooks.append(replica.Append(term)), confirm,
		n.keys, n.offerKeys})
	if err != nil {
		return next, err
	}
	if err := n.openAuthority(ctx, a); err != nil {
		return next, errors.Join(err, a.drop())
	}
	parts := []func(context.Context) error{
		func(ctx context.Context) error { n.pilot(ctx, a); return nil },
		func(ctx context.Context) error { n.keepCertificates(ctx); return nil },
		func(ctx context.Context) error { n.handOverReadOnly(ctx, a); return nil },
		func(hub context.Context) error {
			at := a.web.Attach()
			n.front.attach(at, http.HandlerFunc(a.pages.Live.ServeTrunk), a.ready)
			select {
			case <-ctx.Done():
			case <-hub.Done():
			}
			n.front.detach()
			at.Detach() // while the hub still answers what was asked
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
	n.over = ask
}

// setLeading notes what this node leads by; nil: it leads no more.
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

// leading returns what this node leads by; nil while it does not lead.
func (n *node) leading() *app {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.app
}

// authority returns what lets nodes join; nil while this node does not lead.
func (n *node) authority() *peers.Authority {
	a := n.leading()
	if a == nil {
		return nil
	}
	return a.authority
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

// transfer makes another node lead; "" is any that is up to date.
func (n *node) transfer(ctx context.Context, to string) error {
	n.mu.Lock()
	ask := n.over
	n.mu.Unlock()
	if ask == nil {
		return errFollows
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
	readOnlyTime  = 2 * time.Second // of a hub, until another node is to lead
	readOnlyEvery = 250 * time.Millisecond
)

// handOverReadOnly asks for another node to lead when this one cannot write: its disk is full, or fails.
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
		case time.Since(since) >= readOnlyTime:
			n.log.Warn("this node cannot write, so another one is to lead", "err", err)
			n.mu.Lock()
			ask := n.over
			n.mu.Unlock()
			if ask != nil {
				ask(handover{done: make(chan error, 1)})
			}
			return
		}
	}
}

// printSignIn prints a link to sign in, the first time that this program leads.
func (n *node) printSignIn(ctx context.Context, a *app) error {
	if n.signIn {
		return nil
	}
	n.signIn = true
	token, err := a.signIn.New()
	if err == nil {
		err = a.signIns.TakeOwn(ctx)
	}
	if err != nil {
		return err
	}
	printLine(n.stdout, "sign_in", a.at.signIn(token))
	for _, f := range a.files {
		printLine(n.stdout, f[0], f[1])
	}
	return nil
}
