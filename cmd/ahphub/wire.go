package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	endpoint "github.com/ahphub/ahphub/handlers/machines"
	"github.com/ahphub/ahphub/handlers/pages"
	pagespeople "github.com/ahphub/ahphub/handlers/pages/people"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/handlers/rpc"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/cluster/peers"
	"github.com/ahphub/ahphub/hub/filecache"
	"github.com/ahphub/ahphub/hub/guard"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/files"
	"github.com/ahphub/ahphub/hub/machine/fleet"
	"github.com/ahphub/ahphub/hub/machine/local"
	"github.com/ahphub/ahphub/hub/machine/survey"
	"github.com/ahphub/ahphub/hub/machines"
	"github.com/ahphub/ahphub/hub/mcp"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/hub/organize"
	"github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/hub/presence"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/proxy"
	"github.com/ahphub/ahphub/hub/sandbox/relayed"
	"github.com/ahphub/ahphub/hub/secret"
	"github.com/ahphub/ahphub/hub/store"
	"github.com/ahphub/ahphub/hub/telemetry"
	"github.com/ahphub/ahphub/hub/usage"
	"github.com/ahphub/ahphub/static"
	"github.com/ahphub/ahphub/web"
)

// app is the wired program: the only place that names implementations.
type app struct {
	cfg          Config
	log          *slog.Logger
	at           addresses
	store        *store.Store
	docs         *store.Documents
	audit        *audit.Log
	hub          *hub.Hub
	host         *host.Host
	tools        *mcp.Server
	notify       *notify.Notifier
	usage        *usage.Ledger
	links        *access.Links
	personal     *access.Personal
	cookies      *people.Cookies
	telemetry    *telemetry.Telemetry
	journal      *task
	library      *task
	pages        *pages.Pages
	syntax       *filecache.Cache
	diffs        diff.Cache
	rpc          *rpc.Endpoint
	web          *web.Server
	signIn       access.SignIn   // issues tokens
	signIns      *access.SignIns // redeems them
	provider     *web.Provider
	secured      *secured
	public       *url.URL // nil: the listening address
	owner        access.Principal
	memory       memory
	guard        *guard.Guard
	keys         *secret.Keys
	members      *access.Members
	machines     *machines.Registry // nil: none can join
	joins        *endpoint.Endpoint // serves machines' connections
	roster       *fleet.Roster      // connected machines; nil: none can join
	route        *fleet.Route       // routes calls to machines; nil: none can join
	agentTools   http.Handler       // tools for agents on machines
	needsLogin   func(provider string) bool
	secrets      *secret.Store
	rules        *sandbox.Rules // nil: no sandboxes
	programs     local.Programs
	relayed      *relayed.Listener // connections of sandboxed agents to the host's tools; nil: none
	proxy        *proxy.Proxy
	demoMachines []*demoMachine   // of `ahphub demo`
	files        [][2]string      // key and path of files in the data directory
	led          *leading         // nil: not in a cluster
	authority    *peers.Authority // of the cluster; nil without one
}

// build opens the store, starts the journal and makes every part. On an error it releases
// everything.
func build(ctx context.Context, cfg Config, set settings, l net.Listener, log *slog.Logger,
	tel *telemetry.Telemetry, led *leading) (*app, error) {
	a := &app{led: led, cfg: cfg, log: log, telemetry: tel, at: addressesOf(l, set.public), secured: set.secured,
		public: set.public, owner: access.Owner(ownerName(cfg.OwnerName)), memory: findMemory()}
	a.memory.heed(log)
	var err error
	if err = a.openStore(ctx); err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be used: %w", cfg.Data, err)
	}
	if a.guard, err = guard.New(cfg.Data, cfg.secretFiles()...); err != nil {
		return nil, errors.Join(fmt.Errorf("the data directory %s cannot be guarded: %w", cfg.Data, err), a.close())
	}
	if err := a.openKeys(); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if err := a.buildHost(ctx, set, l); err != nil {
		return nil, errors.Join(err, a.close())
	}
	if err := a.notify.OpenPush(ctx); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.sealAll(ctx)
	if err := a.buildWeb(ctx, set, l); err != nil {
		return nil, errors.Join(err, a.close())
	}
	a.agentTools = a.web.AgentHandler()
	return a, nil
}

func (a *app) buildHost(ctx context.Context, set settings, l net.Listener) error {
	boot, err := a.boot(ctx)
	if err != nil {
		return err
	}
	var quorum func() error
	if a.led != nil {
		quorum = a.led.confirm
	}
	a.hub = hub.New(hub.Config{Journal: true, Quorum: quorum, Boot: boot, Limits: a.memory.hub(),
		Derive: func(tx *hub.Tx, e *hub.Envelope) {
			a.audit.Derive(tx, e)
			a.host.Derive(tx, e)
			a.notify.Derive(tx, e)
			a.usage.Derive(tx, e)
		}})
	a.audit = audit.New(audit.Config{Hub: a.hub, Store: a.store, Log: a.log})
	a.docs = a.store.Documents(a.hub)
	if a.usage, err = a.openUsage(ctx); err != nil {
		return err
	}
	a.journal = start(context.WithoutCancel(ctx), a.runJournal)
	if err := a.openMachines(ctx); err != nil {
		return err
	}
	if err := a.buildSandboxes(agentURL(set, l), l.Addr()); err != nil {
		return err
	}
	agents, err := makeAgents(a.cfg, a.guard, a.programs)
	if err != nil {
		return err
	}
	a.needsLogin = unsigned(agents)
	if a.secrets, err = secret.OpenStore(ctx, a.docs, a.keys); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	a.openSyntax()
	computer, home, err := a.computer(ctx, agents)
	if err != nil {
		return err
	}
	var contacts func(string) []sandbox.Contact
	if a.proxy != nil {
		contacts = a.proxy.Contacts
	}
	a.host, err = host.New(host.Config{Hub: a.hub, Machine: computer, Home: home, Sandbox: a.rules, Elsewhere: a.isolationOf,
		Contacts: contacts, Container: a.containerOf(), Secrets: a.secretsOf, Store: a.store, Audit: a.audit,
		DefaultAgent: a.cfg.Agent,
		DataDir:      a.cfg.Data, LastAlive: a.lastAlive(), DefaultDir: set.dir,
		Pass: a.cfg.pass, ToolServers: mcp.Reach(agentURL(set, l), program),
		Log:        a.log,
		Budget:     a.usage.Check,
		FilesAsked: func(tx *hub.Tx, ask files.FileAsk) { a.notify.FilesAsked(tx, ask.ID, ask.Words()) },
		Judged:     func(tx *hub.Tx, session ahp.URI, e review.Event) { a.notify.Judged(tx, session, e) },
		ReadSyntax: a.diffs.ReadSyntax,
		Clients:    a, Limits: a.memory.host(), Tracer: a.telemetry.Tracer(), Meters: a.telemetry})
	if err != nil {
		return err
	}
	if err := a.buildNotifier(ctx, set); err != nil {
		return err
	}
	a.tools = mcp.New(mcp.Config{Host: a.host, Version: versionName(), Log: a.log})
	return a.host.Start(ctx)
}

// openSyntax opens the cache of syntax colours. Without it, they are computed each time.
func (a *app) openSyntax() {
	var err error
	if a.syntax, err = filecache.Open(filecache.Config{Dir: filepath.Join(a.cfg.Data, "syntax")}); err != nil {
		a.log.Warn("the colours of reviews are not kept", "err", err)
		return
	}
	a.diffs.Syntax = a.syntax
}

// doors authenticates people and clients.
type doors struct {
	links     *access.Links
	members   *access.Members
	personal  *access.Personal
	owner     access.OwnerSecret
	passwords *people.Passwords
	passkeys  *people.Passkeys
	cookies   *people.Cookies
}

func (a *app) openDoors(ctx context.Context, set settings) (doors, error) {
	d := doors{passwords: &people.Passwords{Store: a.docs}, passkeys: &people.Passkeys{Store: a.docs}}
	var err error
	if d.links, err = access.OpenLinks(ctx, a.docs); err != nil {
		return d, err
	}
	d.links.SetWorld(a.hub)
	if d.members, err = access.OpenMembers(ctx, a.docs, a.owner.Name); err != nil {
		return d, err
	}
	if err := a.shareFiles(ctx); err != nil {
		return d, err
	}
	if d.owner, err = access.OwnerToken(os.Getenv("AHPHUB_TOKEN"), a.cfg.TokenFile, a.cfg.Data); err != nil {
		return d, err
	}
	a.telemetry.Hide(d.owner.Token)
	if d.owner.Path != "" {
		a.files = append(a.files, [2]string{"token_file", d.owner.Path})
	}
	if d.personal, err = access.OpenPersonal(ctx, a.docs); err != nil {
		return d, err
	}
	key, path, err := cookieKey(a.cfg.Data)
	if err != nil {
		return d, err
	}
	a.files = append(a.files, [2]string{"key_file", path})
	d.cookies, err = people.New(people.Config{Store: a.docs, Key: key, Secure: set.public != nil &&
		set.public.Scheme == "https"})
	return d, errors.Join(err, a.shareFiles(ctx))
}

func (a *app) buildWeb(ctx context.Context, set settings, l net.Listener) error {
	in, err := a.openDoors(ctx, set)
	if err != nil {
		return err
	}
	a.cookies, a.personal, a.members = in.cookies, in.personal, in.members
	a.links, a.signIn = in.links, access.SignIn{Dir: signInDir(a.cfg.Data)}
	if a.signIns, err = access.OpenSignIns(ctx, a.docs, a.signIn); err != nil {
		return err
	}
	shelf, err := organize.Open(ctx, a.docs)
	if err != nil {
		return err
	}
	isGone := func(session ahp.URI) bool { return a.host.ProviderOf(session) == "" }
	if err := errors.Join(in.cookies.Sweep(ctx), a.notify.Sweep(ctx, a.left), a.notify.SweepDevices(ctx),
		shelf.Sweep(ctx, a.left, isGone)); err != nil {
		return err
	}
	assets, err := static.New()
	if err != nil {
		return err
	}
	sockets, frames := a.memory.sockets(), a.memory.frames()
	unboxed, partly := a.host.Sandboxes.Warning()
	a.pages = pages.New(pages.Deps{Host: a.host, Automations: a.host.Automations, Customs: a.host.Customs,
		Reviews: a.host.Threads, Changes: a.host.Changes, Worktrees: a.host.Worktrees, Sandboxes: a.host.Sandboxes, Terminals: a.host.Terminals, Files: a.host.Files, Hub: a.hub,
		Links: in.links, Presence: presence.New(presence.Config{}),
		Assets: assets, Log: a.log,
		Shelf: shelf, FirstAgent: firstAgent(), Setup: setupNotes(a.cfg.configured, unboxed, partly),
		NeedsLogin: a.needsLogin, LoginLines: loginLines(programs(a.cfg.configured, a.cfg.pass)), Docs: a.docs, Diffs: &a.diffs, Browsers: in.cookies,
		Accounts: pagespeople.Accounts{Passwords: in.passwords, Passkeys: in.passkeys, Tokens: in.personal,
			Members: in.members},
		Notify: a.notify, Audit: a.audit, Secrets: secretsPage{a.secrets, a}, Machines: a.machines, Nodes: a.clusterStatus(), Load: survey.Load, Version: versionName(), Usage: a.usage, Public: publicAddress(set), DefaultDir: set.dir, Sockets: sockets,
		Frames: frames})
	a.rpc = rpc.New(rpc.Config{Host: a.host, Automations: a.host.Automations, Terminals: a.host.Terminals,
		Files: a.host.Files, Audit: a.audit, Hub: a.hub, Clients: a.store, Log: a.log,
		Name: "ahphub", Version: versionName(),
		DefaultDirectory: fileURI(set.dir), Origins: publicHosts(set), Limits: a.memory.rpc(), Sockets: sockets,
		Frames: frames, Answers: a.memory.answers(),
		Telemetry: a.telemetry, Tracer: a.telemetry.Tracer(), Count: a.telemetry.Request, Admit: in.links.Admit,
		AwaitNodes: a.pages.Live.AwaitNodes})
	if a.provider, err = a.cfg.OIDC.provider(a.docs, set.rules, a.log); err != nil {
		return err
	}
	a.web, err = web.New(web.Config{
		Pages: web.PageRoutes{Pages: a.pages}, RPC: a.rpc, RootRPC: a.rpc.ByProvider(), Tools: a.tools,
		Unsubscribe: a.pages.Unsubscribe,
		Assets:      assets, Sessions: a.host, Short: core.ShortID, Title: a.pages.TitleOf, Home: site.Home,
		Tokens: access.NewTokens(in.owner, a.owner.Name, in.links, in.personal), Links: in.links, Members: in.members,
		SignIn: a.signIns, AwaitNodes: a.pages.Live.AwaitNodes,
		Passwords: in.passwords, Passkeys: in.passkeys, Cookies: in.cookies, Audit: a.audit, Owner: a.owner,
		Listen: l.Addr().String(), PublicURL: set.public, AllowHosts: slices.Concat(a.cfg.AllowHost, a.cfg.TLS.ACME),
		TLS: set.tls(), Provider: a.provider, Proxies: set.proxies,
		Ready: a.ready, Metrics: slices.Concat(a.metrics(), a.meterMachines(), a.meterCluster()), Registry: a.telemetry.Registry(), Tracer: a.telemetry.Tracer(), Log: a.log,
		Limits: web.Limits{Stop: 3 * time.Second}, Machines: a.joinHandler(),
	})
	return err
}

func (a *app) ready() error { return errors.Join(a.hub.ReadOnly(), a.store.Err()) }

// announce prints the addresses on standard output, for people and scripts.
func (a *app) announce(ctx context.Context, stdout io.Writer) error {
	if err := a.at.write(a.cfg.Data); err != nil {
		return err
	}
	token, err := a.signIn.New()
	if err != nil {
		return err
	}
	if a.cfg.demo {
		if err := a.makeDemo(ctx); err != nil {
			return err
		}
	}
	printLine(stdout, "url", a.at.URL)
	printLine(stdout, "sign_in", a.at.signIn(token))
	printLine(stdout, "ahp", a.at.ahp())
	printLine(stdout, "data", a.cfg.Data)
	for _, f := range a.files {
		printLine(stdout, f[0], f[1])
	}
	if !hasGit() {
		a.log.Warn("git was not found, so changes cannot be shown or reviewed: install Git, then restart ahphub")
	}
	a.log.Info("serving", "url", a.at.URL, "agent", a.cfg.Agent, "version", versionName())
	return nil
}

// close stops what build started, the journal last, so that all changes are stored.
func (a *app) close() error {
	if a.pages != nil {
		a.pages.Close()
	}
	a.diffs.Close()
	if a.web != nil {
		a.tools.Close() // the host has stopped already
		a.web.Close()
	}
	a.closeDemoMachines()
	var err error
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // the server has already waited for them
	defer cancel()
	if a.rpc != nil {
		err = a.rpc.Close(ctx)
	}
	if a.joins != nil {
		err = errors.Join(err, a.joins.Close(ctx))
	}
	if a.roster != nil {
		a.roster.Close()
	}
	if a.route != nil {
		a.route.Close()
	}
	if a.library != nil {
		err = errors.Join(err, a.library.stop())
	}
	if a.journal != nil {
		err = errors.Join(err, a.journal.stop())
	}
	if a.programs.Boxes != nil {
		a.programs.Boxes.Close()
	}
	if a.proxy != nil {
		a.proxy.Close()
	}
	return errors.Join(err, a.guard.Close(), a.syntax.Close(), a.closeStore())
}

func publicAddress(set settings) string {
	if set.public == nil {
		return ""
	}
	return set.public.String()
}

func publicHosts(set settings) []string {
	if set.public == nil {
		return nil
	}
	return []string{set.public.Host}
}

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// cookieKey reads the key that signs cookies, and makes it if absent.
func cookieKey(dir string) (key []byte, path string, err error) {
	path = filepath.Join(dir, "cookie.key")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key = people.NewKey()
		return key, path, access.WriteSecret(path, []byte(hex.EncodeToString(key)+"\n"))
	}
	if err != nil {
		return nil, path, err
	}
	key, err = hex.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) < 32 {
		return nil, path, fmt.Errorf("%s is not a key. Delete it to make a new one (all users must sign in again)",
			path)
	}
	return key, path, nil
}
