package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ahphub/ahphub/"

// imports lists the packages of this module that a package may import, and the reason.
type imports struct {
	may    []string // prefixes end in /…
	reason string
}

// packages is the graph in docs/architecture.md: a package imports only packages below it.
var packages = map[string]imports{
	"hub/ahp":         {nil, "the protocol is types and pure functions: the standard library only"},
	"hub/ahp/dialect": {[]string{"hub/ahp", "hub/ahp/release"}, "adapters know the protocol alone"},
	"hub/ahp/release": {nil, "which release has what is a table, and no code of the program's"},
	"hub/jsonrpc":     {[]string{"hub/ahp"}, "a codec knows no host"},
	"hub":             {[]string{"hub/ahp"}, "the timeline does no I/O and knows no host"},
	"hub/environ":     {nil, "which variables programs see is asked by all that start some"},
	"hub/machine":     {[]string{"hub/redact", "hub/sandbox", "hub/ahp", "hub/agent"}, "the seam to a computer is interfaces and plain values"},
	"hub/machine/local": {[]string{"hub/sandbox", "hub/sandbox/box", "hub/ahp", "hub/agent", "hub/machine", "hub/changeset", "hub/custom", "hub/guard",
		"hub/mcp/dial", "hub/resource", "hub/terminal"},
		"this computer knows the packages that do its work, and no session"},
	"hub/machine/join":        {[]string{"hub/machines"}, "two computers prove who they are before anything else is said"},
	"hub/cluster":             {nil, "a replicated log knows batches as bytes, and not what they mean"},
	"hub/cluster/clustertest": {[]string{"hub/cluster"}, "what every log must hold is asked of any"},
	"hub/cluster/peers": {[]string{"hub/access"},
		"nodes know each other without a word of what they say"},
	"hub/cluster/manage": {[]string{"hub/cluster", "hub/cluster/peers"},
		"who belongs to a cluster is changed without a word of what its log holds"},
	"hub/cluster/replica": {[]string{"hub/cluster", "hub/store"},
		"a node's state is the store, and neither the log nor the store knows the other"},
	"hub/machine/pipe": {[]string{"hub/ahp", "hub/agent", "hub/ids", "hub/machine"},
		"a connection knows which errors cross it, and no call"},
	"hub/machine/place": {[]string{"hub/ahp"}, "how the hub spells what is on machines needs no machine"},
	"hub/machine/kept":  {[]string{"hub/machine"}, "what is kept of machines is documents"},
	"hub/machine/fleet": {[]string{"hub/machine/kept", "hub/machine/place", "hub/agent", "hub/ahp", "hub/machine", "hub/machine/remote", "hub/machines", "hub/sandbox"},
		"which computers there are is said in terms of the seam alone"},
	"hub/machine/fence": {[]string{"hub/agent", "hub/ahp", "hub/guard", "hub/machine", "hub/sandbox"},
		"what a computer keeps its hub from knows neither connections nor sessions"},
	"hub/machine/remote": {[]string{"hub/ahp", "hub/agent", "hub/machine", "hub/machine/pipe", "hub/machines", "hub/redact",
		"hub/sandbox", "hub/sandbox/relayed"},
		"another computer is the seam over a connection, and knows no session"},
	"hub/machine/door": {[]string{"hub/agent"},
		"how agents reach their hub's tools knows neither what these are nor the connection"},
	"hub/machine/survey": {[]string{"hub/agent/acp", "hub/machines", "hub/sandbox/disk"},
		"what a computer is and has free is found without a word of who asks"},
	"hub/machines": {[]string{"hub/ids", "hub/texts"},
		"which computers belong to a hub is known without a word of what they do"},
	"hub/terminal": {[]string{"hub/ahp", "hub/environ", "hub/machine", "hub/redact", "hub/texts"},
		"a process and its bytes know no session"},
	"hub/changeset": {[]string{"hub/ahp", "hub/changeset/…", "hub/environ", "hub/machine", "hub/sandbox",
		"hub/texts"},
		"git and diffs know no session's state"},
	"hub/changeset/diff":        {[]string{"hub/recent", "hub/texts"}, "diffs are pure, so that templates may draw them"},
	"hub/filecache":             {nil, "what can be made again is kept without knowing what it is"},
	"hub/loopback":              {nil, "addresses are reserved without knowing who listens there"},
	"hub/loopback/loopbacktest": {[]string{"hub/loopback"}, "tests reserve addresses by it"},
	"hub/recent":                {nil, "what was used last is kept without knowing what it is"},
	"hub/custom": {[]string{"hub/machine", "hub/texts"},
		"what lies on disk is found without a word of sessions or the protocol"},
	"hub/guard":    {nil, "what is closed to everyone is asked of the system alone"},
	"hub/resource": {[]string{"hub/ahp", "hub/guard", "hub/machine"}, "files know no session's state"},
	"hub/access":   {[]string{"hub", "hub/ahp", "hub/texts"}, "rights are asked about channels, and ask nobody"},
	"hub/audit": {[]string{"hub", "hub/ahp", "hub/access", "hub/ids"},
		"entries are derived in the step of their action, and the log knows no host and no handler"},
	"hub/usage":    {[]string{"hub", "hub/ahp"}, "what turns used is derived in the step of their actions, and knows no host"},
	"hub/organize": {[]string{"hub/ahp"}, "pins and labels are documents about sessions, and know none"},
	"hub/people":   {[]string{"hub/ids", "hub/texts"}, "who is signed in is no matter of the protocol"},
	"hub/texts":    {nil, "cutting a text is pure, so that every package may do it the same way"},
	"hub/ids":      {nil, "an identifier is made without knowing what it names"},
	"hub/version":  {[]string{"hub/ahp"}, "a version of a file is named without knowing where its content lies"},
	"hub/quota":    {nil, "counting what callers hold needs to know nothing of them"},
	"hub/presence": {[]string{"hub/access", "hub/ahp", "hub/texts"},
		"presence is host state beside the timeline"},
	"hub/agent": {[]string{"hub/sandbox", "hub/ahp", "hub/agent", "hub/agent/…", "hub/ids", "hub/texts"},
		"an agent sees the protocol and what the host gives it, never the host"},
	"hub/agent/acp": {[]string{"hub/sandbox", "hub/ahp", "hub/agent", "hub/environ", "hub/guard", "hub/jsonrpc", "hub/machine",
		"hub/resource", "hub/ids", "hub/texts"},
		"an agent that is a program of its own: it is spoken to by JSON-RPC, and reaches files only below the " +
			"session's directories"},
	"hub/sandbox":         {nil, "what programs are kept from is plain values"},
	"hub/outbound":        {nil, "which addresses are the Internet's is asked by all that connect to addresses of others"},
	"hub/sandbox/disk":    {nil, "what directories take is plain numbers"},
	"hub/sandbox/relayed": {nil, "a listener of connections knows nothing of them"},
	"hub/sandbox/proxy": {[]string{"hub/outbound", "hub/sandbox", "hub/sandbox/relayed", "hub/texts"},
		"the proxy knows lists of hosts, and neither boxes nor sessions"},
	"hub/sandbox/proxy/proxytest": {nil, "tests serve names by it"},
	"hub/sandbox/box/enter":       {nil, "it runs before any other package is ready"},
	"hub/sandbox/box/contain":     {[]string{"hub/sandbox/box/enter"}, "it runs before most packages are ready"},
	"hub/sandbox/box/boxtest":     {nil, "tests make images by it"},
	"hub/sandbox/box/join":        {[]string{"hub/sandbox/box/enter"}, "it runs before most packages are ready"},
	"hub/sandbox/devcontainer":    {nil, "what a repository says is plain values"},
	"hub/sandbox/box": {[]string{"hub/guard", "hub/sandbox", "hub/sandbox/disk", "hub/sandbox/box/contain", "hub/sandbox/box/enter", "hub/sandbox/box/join", "hub/sandbox/devcontainer"},
		"boxes know programs and policies, and no session"},
	"hub/review":         {[]string{"hub/ahp"}, "following lines through edits is pure"},
	"hub/telemetry":      {[]string{"hub/ahp"}, "telemetry is told what happens, and asks nobody"},
	"hub/automation":     {[]string{"hub/ahp", "hub/texts"}, "what is due at a moment is pure: the time comes in"},
	"hub/secret":         {[]string{"hub/access", "hub/redact"}, "sealing knows keys and names, and nothing of what it seals"},
	"hub/redact":         {nil, "hiding values in a text is pure"},
	"hub/notify/webpush": {nil, "encrypting for a browser knows neither notices nor people"},
	"hub/notify": {[]string{"hub", "hub/ahp", "hub/access", "hub/notify/webpush", "hub/outbound", "hub/review", "hub/secret", "hub/texts"},
		"who is told what is derived from the timeline and from reviews, and asks the host by an interface"},
	"hub/store": {[]string{"hub", "hub/ahp"},
		"the store writes what the hub hands it; another one can stand in its place"},
	"hub/host/core": {[]string{"hub", "hub/ahp", "hub/access", "hub/ids", "hub/texts"},
		"what every part of the host stands on knows no part"},
	"hub/host/terminals": {[]string{"hub/redact", "hub/sandbox", "hub", "hub/ahp", "hub/host/core", "hub/access", "hub/agent", "hub/machine",
		"hub/ids", "hub/texts"}, "a part of the host stands on the core and the seam, and knows no other part"},
	"hub/host/agents": {[]string{"hub", "hub/ahp", "hub/host/core", "hub/agent", "hub/machine"},
		"which agents there are is known without the sessions that use them"},
	"hub/host": {[]string{"hub/host/agents", "hub/host/sandboxes", "hub/host/secrets", "hub/redact", "hub/sandbox", "hub", "hub/ahp", "hub/host/core", "hub/host/changes", "hub/host/threads",
		"hub/host/automations", "hub/host/clients", "hub/host/customs", "hub/host/files", "hub/host/terminals",
		"hub/host/worktrees",
		"hub/access", "hub/audit", "hub/agent", "hub/machine", "hub/changeset/diff", "hub/review",
		"hub/version", "hub/ids", "hub/texts"}, "the host knows no store, no HTTP and no implementation of an agent"},
	"hub/mcp": {[]string{"hub/ahp", "hub/agent", "hub/host", "hub/host/core", "hub/host/changes",
		"hub/host/threads", "hub/review", "hub/ids", "hub/texts"},
		"the host's tools for agents: what a model is told and reads, over what the host lets it do"},
	"hub/mcp/dial": {[]string{"hub/sandbox", "hub/ahp", "hub/agent", "hub/environ", "hub/machine"},
		"reaching MCP servers belongs to a computer, and knows no session"},
	"static": {nil, "assets are files"},
	"templ": {[]string{"hub/ahp", "hub/machine/place", "hub/changeset/diff", "hub/recent", "templ/part", "hub/texts"},
		"a page is tested from literals: it draws states and knows no hub"},
	"handlers/upgrade": {nil, "a socket is made and kept without knowing what it is for"},
	"handlers/rpc": {[]string{"handlers/upgrade", "hub", "hub/ahp", "hub/ahp/dialect", "hub/jsonrpc",
		"hub/access", "hub/audit", "hub/host", "hub/host/core", "hub/host/changes", "hub/quota", "hub/ids",
		"hub/texts"}, "the endpoint speaks the protocol for the host"},
	"handlers/machines": {[]string{"handlers/upgrade", "hub/access", "hub/audit", "hub/machine/join", "hub/machines",
		"hub/quota"}, "a machine's socket is served without a word of what is asked of it"},
	"handlers/live": {[]string{"handlers/upgrade", "hub", "hub/ahp", "hub/access", "hub/quota", "templ/part"},
		"the engine of live pages knows rooms, and none of them by name"},
	"web/gateway": {[]string{"handlers/live", "handlers/upgrade", "static", "web"},
		"a node passes requests on without reading what they are about"},
	"web": {[]string{"handlers/pages", "handlers/upgrade", "hub/access", "hub/audit", "hub/people",
		"hub/ahp", "templ/…", "hub/ids"}, "the server is handed its handlers, and lists every route of theirs"},
	"cmd":        {[]string{"…"}, "the one place that names implementations"},
	"e2e":        {[]string{"…"}, "tests see everything"},
	"e2e/oracle": {nil, "a second reducer can argue with the program's only while the two share nothing"},

	// Tests receive the computer they run on.
	"hub/host/hosttest": {[]string{"hub", "hub/store"}, "the host's own tests use it, so it cannot know the host"},
	"hub/machine/localtest": {[]string{"hub/agent", "hub/guard", "hub/machine", "hub/machine/fleet", "hub/machine/local",
		"hub/machine/remote"},
		"a test says no more than where the data is"},

	// The parts of the host do not import each other: they get what they need of sessions or other
	// parts as functions.
	"hub/host/changes": {[]string{"hub", "hub/ahp", "hub/host/core", "hub/access", "hub/changeset/diff",
		"hub/machine", "hub/machine/place", "hub/review", "hub/sandbox", "hub/version", "hub/ids", "hub/texts"},
		"changesets know the core and the seam alone, and sessions by the functions they are given"},
	"hub/host/threads": {[]string{"hub", "hub/ahp", "hub/host/core", "hub/access", "hub/changeset/diff", "hub/ids",
		"hub/machine", "hub/review", "hub/texts", "hub/version"},
		"threads and verdicts know the core and the seam alone, and changes by the functions they are given"},
	"hub/host/worktrees": {[]string{"hub", "hub/ahp", "hub/host/core", "hub/machine", "hub/sandbox", "hub/texts"},
		"branches and worktrees know the core and the seam alone, and agents by the functions they are given"},
	"hub/host/sandboxes": {[]string{"hub", "hub/ahp", "hub/host/core", "hub/agent", "hub/sandbox", "hub/texts"},
		"what programs are kept from follows from settings and agents, not from other parts"},
	"hub/host/secrets": {[]string{"hub", "hub/ahp", "hub/host/core", "hub/access", "hub/audit", "hub/redact", "hub/sandbox"},
		"a session's secrets follow from its settings, not from other parts"},
	"hub/host/clients": {[]string{"hub", "hub/ahp", "hub/host/core"}, "active clients know the core alone"},
	"hub/host/files": {[]string{"hub", "hub/ahp", "hub/host/core", "hub/access", "hub/machine",
		"hub/version", "hub/ids", "hub/texts"},
		"files know the core alone, and sessions, changes and clients by the functions they are given"},
	"hub/host/customs": {[]string{"hub/sandbox", "hub", "hub/ahp", "hub/host/core", "hub/machine", "hub/texts"},
		"customizations and MCP servers know the core and the seam alone, and agents by the functions they are given"},
	"hub/host/automations": {[]string{"hub", "hub/ahp", "hub/host/core", "hub/access", "hub/automation", "hub/ids",
		"hub/texts"}, "automations know the core alone, and sessions by the functions they are given"},

	// The areas of the pages do not import each other: they use site, and handlers/pages joins
	// them.
	"handlers/pages": area("hub/changeset/diff", "hub/machines", "hub/notify", "hub/organize", "hub/presence", "hub/quota", "static",
		"hub/usage", "handlers/pages/…"),
	"handlers/pages/site":        area("hub/ids", "hub/machine/place", "hub/machines", "hub/notify", "hub/presence", "hub/review", "hub/sandbox", "hub/texts", "static"),
	"handlers/pages/automations": area("hub/automation", "hub/ids"),
	"handlers/pages/chat":        area("hub/ids", "hub/machine/place", "hub/machines", "hub/sandbox", "hub/texts"),
	"handlers/pages/customs":     area("hub/audit"),
	"handlers/pages/inbox":       area("hub/audit", "hub/organize"),
	"handlers/pages/machines":    area("hub/audit", "hub/machines"),
	"handlers/pages/nodes":       area("hub/cluster/manage"),
	"handlers/pages/people":      area("hub/audit", "hub/people", "hub/texts"),
	"handlers/pages/review": area("hub/audit", "hub/changeset/diff", "hub/ids", "hub/machine", "hub/recent", "hub/review",
		"hub/version", "hub/texts"),
	"handlers/pages/settings":  area("hub/audit", "hub/notify", "hub/secret"),
	"handlers/pages/terminals": area("hub/ids", "hub/machine", "hub/machine/place"),
	"handlers/pages/usage":     area("hub/audit", "hub/usage"),
	"handlers/pages/visitors":  area("hub/presence"),
}

// area returns the row for a package of pages: common imports, and more.
func area(more ...string) imports {
	may := []string{"handlers/live", "handlers/pages/site", "hub", "hub/ahp", "hub/access", "hub/host", "hub/host/…",
		"templ/…"}
	return imports{append(may, more...), "pages are clients of the hub, and an area knows no other"}
}

// bans excludes third-party packages from packages.
var bans = []struct {
	pkg, path, reason string
}{
	{"hub/ahp", ".", "the protocol uses the standard library only"},
	{"hub", ".", "the timeline uses the standard library only"},
	{"hub", "os", "the timeline does no I/O"},
	{"hub", "net", "the timeline does no I/O"},
	{"hub/sandbox", "os", "a policy is pure"},
	{"hub/sandbox/box/enter", ".", "it runs before any other package is ready"},
	{"hub/sandbox/box/enter", "fmt", "it would be initialized late, as what it imports would be"},
	{"hub/sandbox/box/enter", "strings", "it would be initialized late, as what it imports would be"},
	{"hub/sandbox/box/enter", "os/signal", "it would be initialized late"},
	{"hub/sandbox/box/enter", "net", "it would be initialized late"},
	{"hub/sandbox/box/enter", "encoding/json", "it would be initialized late"},
	{"hub/sandbox/box/join", ".", "it runs before most packages are ready"},
	{"hub/sandbox/box/join", "fmt", "it would be initialized late, as what it imports would be"},
	{"hub/sandbox/box/join", "strings", "it would be initialized late, as what it imports would be"},
	{"hub/sandbox/box/contain", ".", "it runs before most packages are ready"},
	{"hub/sandbox/box/contain", "fmt", "it would be initialized late, as what it imports would be"},
	{"hub/sandbox/box/contain", "net", "it would be initialized late"},
	{"hub/ahp", "os", "the protocol does no I/O"},
	{"hub/ahp", "net", "the protocol does no I/O"},
	{"templ", "os", "templates do no I/O"},
	{"templ", "net/http", "templates do no I/O"},
}

// below lists the packages behind the interfaces of hub/machine or only for tests, and who may
// import them besides their own tests.
var below = map[string][]string{
	"hub/terminal": {"hub/machine/local", "cmd", "e2e"},
	"hub/custom":   {"hub/machine/local", "cmd", "e2e"},
	"hub/mcp/dial": {"hub/machine/local", "cmd", "e2e"},
	"hub/resource": {"hub/machine/local", "hub/agent/acp", "cmd", "e2e"},

	"hub/changeset":   {"hub/machine/local", "cmd", "e2e"},
	"hub/sandbox/box": {"hub/machine/local", "cmd", "e2e"},
	"e2e/oracle":      {"e2e"}, // the program must never use it

	"hub/sandbox/proxy":           {"cmd", "e2e"},
	"hub/sandbox/proxy/proxytest": {}, // only for tests

	"hub/host/hosttest":         {},      // only for tests
	"hub/loopback/loopbacktest": {"e2e"}, // only for tests
}

// only lists the packages that may import a third-party or standard package, so that its use stays
// in one place.
var only = map[string][]string{
	// Access to a computer's programs and files is behind hub/machine; cmd has the demo and the
	// doctor.
	"os/exec": {"hub/machine/local", "hub/terminal", "hub/changeset", "hub/mcp/dial", "hub/agent",
		"hub/sandbox/box", "cmd", "e2e"},

	"modernc.org/sqlite":        {"hub/store"},
	"github.com/hashicorp/raft": {"hub/cluster"},
	"github.com/coder/websocket": {"handlers/upgrade", "handlers/rpc", "handlers/live", "handlers/pages", "handlers/machines",
		"hub/machine/join",
		"e2e"},
	"github.com/santhosh-tekuri/jsonschema/v6": {"e2e"},
	"github.com/modelcontextprotocol/go-sdk":   {"hub/mcp", "e2e"},
	"github.com/creack/pty":                    {"hub/terminal"},
	"github.com/coreos/go-oidc/v3":             {"hub/people"},
	"golang.org/x/crypto/acme":                 {"web"},
	"github.com/gorilla/sessions":              {"hub/people"},
	"github.com/spf13/pflag":                   {"cmd"},
	"github.com/prometheus/client_golang":      {"web", "hub/telemetry"},
	"go.opentelemetry.io/otel/sdk":             {"hub/telemetry"},
	"go.opentelemetry.io/contrib":              {"hub/telemetry"},
	"github.com/chromedp/chromedp":             {"e2e"},
	"github.com/charmbracelet/x/vt":            {"hub/terminal", "handlers/pages", "e2e"},
	"github.com/yuin/goldmark":                 {"templ"},
	"github.com/microcosm-cc/bluemonday":       {"templ"},
	"github.com/alecthomas/chroma/v2":          {"hub/changeset", "templ"},
	"github.com/go-chi/httprate":               {"web"},
	"github.com/BurntSushi/toml":               {"cmd", "hub/agent"},
	"github.com/netresearch/go-cron":           {"hub/automation"},
	"github.com/wneessen/go-mail":              {"hub/notify"},
	"github.com/fsnotify/fsnotify":             {"hub/resource", "hub/changeset", "hub/custom"},
	"go.yaml.in/yaml/v3":                       {"hub/custom"},
	"github.com/klauspost/compress":            {"web", "hub/machine/kept", "e2e"},
}

func TestImportGraph(t *testing.T) {
	t.Parallel()
	for dir, imports := range importsOf(t, "..") {
		name, r, ok := packageOf(dir)
		if !ok || isPart(dir) && name != dir {
			t.Errorf("%s has no row: add one here and in docs/architecture.md", dir)
			continue
		}
		for _, path := range imports {
			if ours, is := strings.CutPrefix(path, module); is {
				if !allowed(r.may, ours) && !within(ours, dir) {
					t.Errorf("%s imports %s: %s", dir, ours, r.reason)
				}
				if users, sealed := below[ours]; sealed &&
					!slices.ContainsFunc(users, func(u string) bool { return within(dir, u) }) {
					t.Errorf("%s imports %s, which only %s may: use the interfaces of hub/machine, or hub/ahp", dir,
						ours, strings.Join(users, ", "))
				}
				if isPart(dir) && isPart(ours) && dir != ours {
					t.Errorf("%s imports %s: parts of the host talk through the hub, or through functions given to New",
						dir, ours)
				}
				continue
			}
			for _, b := range bans {
				if b.pkg == name && banned(b.path, path) {
					t.Errorf("%s imports %s: %s", dir, path, b.reason)
				}
			}
			for lib, users := range only {
				if within(path, lib) && !slices.ContainsFunc(users, func(u string) bool { return within(dir, u) }) {
					t.Errorf("%s imports %s, which only %s may: it must stay in one place", dir, path,
						strings.Join(users, ", "))
				}
			}
		}
	}
}

// isPart reports whether a directory is a part of the host.
func isPart(dir string) bool {
	part, ok := strings.CutPrefix(dir, "hub/host/")
	return ok && part != "core" && part != "hosttest"
}

// importsOf returns the imports of every package without its tests.
func importsOf(t *testing.T, root string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" ||
			d.Name() == "vendor") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		dir = filepath.ToSlash(dir)
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			if !slices.Contains(found[dir], p) {
				found[dir] = append(found[dir], p)
			}
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatal("no package was found: ", err)
	}
	return found
}

// packageOf returns the row with the longest name that contains dir.
func packageOf(dir string) (name string, r imports, ok bool) {
	for n, candidate := range packages {
		if within(dir, n) && len(n) > len(name) && (n != "hub" || dir == "hub") {
			name, r, ok = n, candidate, true
		}
	}
	return name, r, ok
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

func allowed(may []string, path string) bool {
	return slices.ContainsFunc(may, func(m string) bool {
		prefix, open := strings.CutSuffix(m, "…")
		return m == path || (open && strings.HasPrefix(path, prefix))
	})
}

// banned treats "." as everything outside the standard library.
func banned(what, path string) bool {
	first, _, _ := strings.Cut(path, "/")
	if what == "." {
		return strings.Contains(first, ".")
	}
	return within(path, what)
}

// parts returns the packages of the host's parts.
func parts(t *testing.T) (list []string) {
	t.Helper()
	dirs, err := os.ReadDir("../hub/host")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if d.IsDir() && d.Name() != "core" && d.Name() != "testdata" && d.Name() != "hosttest" {
			list = append(list, "hub/host/"+d.Name())
		}
	}
	if len(list) == 0 {
		t.Fatal("the host has no parts")
	}
	return list
}

func TestPartsOfTheHostDoNotKnowEachOther(t *testing.T) {
	imports, all := importsOf(t, ".."), parts(t)
	for _, part := range all {
		for _, path := range imports[part] {
			ours, _ := strings.CutPrefix(path, module)
			if ours == "hub/host" || ours != part && slices.Contains(all, ours) {
				t.Errorf("%s imports %s: a part gets what it needs of others as a function in its Config", part, ours)
			}
		}
	}
}

// mostCoreNames limits the names of core that a part may use: needing more shows a wrong division.
const mostCoreNames = 25

func TestPartsOfTheHostUseFewNamesOfCore(t *testing.T) {
	for _, part := range parts(t) {
		names := coreNames(t, "../"+part)
		t.Logf("%s uses %d names of hub/host/core: %s", part, len(names), strings.Join(names, " "))
		if len(names) > mostCoreNames {
			t.Errorf("%s uses %d names of hub/host/core, and at most %d are allowed", part, len(names), mostCoreNames)
		}
	}
}

// coreNames returns the names of package core that a directory's files use, and the members of
// core.Core.
func coreNames(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				switch x := s.X.(type) {
				case *ast.Ident:
					if x.Name == "core" {
						names[s.Sel.Name] = true
					}
				case *ast.SelectorExpr:
					if x.Sel.Name == "core" {
						names["Core."+s.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(names))
}
