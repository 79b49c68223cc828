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
	"github.com/ahphub/ahphub/web/gateway"
)

// clusterConfig configures a node of a cluster.
type clusterConfig struct {
	Cluster        bool   `help:"Serve as a node of a cluster. A data directory that does not belong to a node yet becomes the first node of a new cluster."`
	ClusterName    string `placeholder:"NAME" help:"Name of this node in a new cluster. Default: its host name."`
	ClusterAddress string `placeholder:"HOST:PORT" help:"Address at which other nodes reach this node, in a new cluster."`
	ClusterListen  string `placeholder:"HOST:PORT" help:"Address to listen on for other nodes. Default: the address at which they reach this node."`
}

// batchVersion is the version of the batches in the hub's journal. A node applies batches up to its
// own version.
const batchVersion = 1

// nodeHooks change a node's behaviour in fault tests.
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
			bad("cluster", c.Cluster, "settings of a cluster also need --cluster")
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

// refuseMember returns an error if data belongs to a node, which must not be served without its
// cluster.
func refuseMember(data string) error {
	if !peers.IsNode(data) {
		return nil
	}
	return fmt.Errorf("%s belongs to a node of a cluster and must not change without the other nodes. "+
		"Serve it with --cluster, or copy it for a separate server: "+
		"ahphub cluster detach --data %[1]s NEW-DIRECTORY", data)
}

// node is this program as a node of a cluster. It has what outlives a term; the hub of a term is an
// app.
type node struct {
	cfg    Config
	set    settings
	l      net.Listener
	log    *slog.Logger
	tel    *telemetry.Telemetry
	stdout io.Writer

	peers   *peers.Node
	port    *peers.Listener
	state   *replica.State
	raft    *cluster.Raft
	gateway *gateway.Gateway
	calls   *http.Transport // to other nodes
	admin   *manage.Manager
	keys    *secret.Keys // of secrets

	lastHandover  time.Time     // last handover by handOverReadOnly
	printedSignIn bool          // a sign-in link was printed; used by leadOnce
	member        bool          // the applied log has named this node a member; used by keepMembers
	challenges    chan struct{} // limits waits for answers to challenges (acmeDocs)
	removed       chan struct{} // closed once the log no longer has this node as a member

	mu              sync.Mutex
	requestHandover func(handover) // asks the hub of this term to hand over; nil: this node does not lead
	app             *app           // of this term; nil: this node does not lead
}

// runNode serves as a node of a cluster until ctx is canceled.
func runNode(ctx context.Context, cfg Config, set settings, l net.Listener, log *slog.Logger, tel *telemetry.Telemetry,
	stdout io.Writer) error {
	n := &node{cfg: cfg, set: set, l: l, log: log, tel: tel, stdout: stdout}
	err := n.open(ctx)
	if err == nil {
		err = n.serve(ctx)
	}
	return errors.Join(err, n.close())
}

// open opens the data directory and starts the node.
func (n *node) open(ctx context.Context) (err error) {
	n.removed = make(chan struct{})
	if err := n.forgetCluster(ctx); err != nil {
		return fmt.Errorf("cannot use the data directory %s: %w", n.cfg.Data, err)
	}
	if n.state, err = replica.Open(ctx, storeConfig(n.cfg, n.log, n.tel)); err != nil {
		return fmt.Errorf("cannot use the data directory %s: %w", n.cfg.Data, err)
	}
	if n.keys, err = n.cfg.Secrets.open(n.cfg.Data); err != nil {
		return err
	}
	n.keys.Share()
	n.challenges = make(chan struct{}, mostChallenges)
	n.shareCertificates()
	if err := n.openPeers(); err != nil {
		return err
	}
	n.calls = n.peers.Transport()
	assets, err := static.New()
	if err != nil {
		return err
	}
	n.gateway = gateway.New(gateway.Config{Name: n.peers.Name(), Transport: n.calls, Assets: assets, Log: n.log,
		Hosts:   web.NewHosts(n.l.Addr().String(), n.set.public, slices.Concat(n.cfg.AllowHost, n.cfg.TLS.ACME)),
		Streams: live.RelayConfig{Public: publicAddress(n.set), Frames: findMemory().frames()},
		Before:  n.sendSignInsBefore})
	config := cluster.Config{ID: n.peers.Name(), State: n.state, FromLog: n.state.IsFromLog(),
		Version: batchVersion, Log: n.log}
	hooks.config(&config)
	n.raft, err = cluster.OpenDir(logDir(n.cfg.Data), n.port.StreamLayer(), config)
	if err != nil {
		return err
	}
	hooks.opened(n)
	n.admin = manage.New(manage.Config{Node: n.peers, Log: n.raft, Listener: n.port, Version: versionName(), Logger: n.log,
		Transfer: n.transfer, KeyID: n.keys.ID, AcceptKeys: n.acceptKeys})
	if members := n.peers.Members(); !n.raft.HasState() && len(members) == 1 && members[0].Name == n.peers.Name() {
		return n.raft.Bootstrap(map[string]string{n.peers.Name(): n.peers.Address()})
	}
	return nil
}

// openPeers opens the node that the data directory belongs to, or creates a new cluster with it as
// the first node.
func (n *node) openPeers() (err error) {
	c := n.cfg.Cluster
	if !peers.IsNode(n.cfg.Data) {
		if c.ClusterAddress == "" {
			return errors.New("a new cluster needs --cluster-address, the address at which other nodes reach this node, " +
				"such as 10.0.0.1:8138. To join an existing cluster, run ahphub cluster join first")
		}
		if err := peers.Bootstrap(n.cfg.Data, cmp.Or(c.ClusterName, ownNodeName()), c.ClusterAddress); err != nil {
			return err
		}
	}
	if n.peers, err = peers.Open(n.cfg.Data); err != nil {
		return err
	}
	if cmp.Or(c.ClusterName, n.peers.Name()) != n.peers.Name() ||
		cmp.Or(c.ClusterAddress, n.peers.Address()) != n.peers.Address() {
		return fmt.Errorf("this node's name and address are %s and %s. "+
			"To change them, remove the node from the cluster and join again", n.peers.Name(), n.peers.Address())
	}
	at := cmp.Or(c.ClusterListen, n.peers.Address())
	if n.port, err = n.peers.Listen(at); err != nil {
		return fmt.Errorf("cannot listen for other nodes on %s: %w. Choose another address with --cluster-listen", at, err)
	}
	return nil
}

// logDir returns the directory of a node's log.
func logDir(data string) string { return filepath.Join(peers.Dir(data), "log") }

// close releases what open opened.
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

// serve serves visitors and other nodes, and leads when elected, until ctx is canceled.
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
	around, endAround := context.WithCancel(context.WithoutCancel(ctx)) // until the hub has stopped
	defer endAround()
	var front, back sync.WaitGroup
	var errs [6]error
	front.Go(func() { defer end(); errs[0] = n.gateway.Serve(ctx, n.l, n.set.tls()) })
	back.Go(func() { defer end(); errs[1] = n.port.Serve(around, n.gateway.Handler(n.routes())) })
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

// watchLeader tells the gateway which node leads.
func (n *node) watchLeader(ctx context.Context) {
	changes, stop := n.raft.WatchLeader()
	defer stop()
	for {
		leader, _ := n.raft.Leader()
		n.gateway.SetLeader(leader)
		select {
		case <-changes:
		case <-time.After(time.Second): // raft may drop observations
		case <-ctx.Done():
			return
		}
	}
}

// printSignIn prints a sign-in link the first time this program leads.
func (n *node) printSignIn(ctx context.Context, a *app) error {
	if n.printedSignIn {
		return nil
	}
	n.printedSignIn = true
	token, err := a.signIn.New()
	if err == nil {
		err = a.signIns.ImportOwn(ctx)
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
