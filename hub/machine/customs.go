package machine

import (
	"context"
	"encoding/json"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Customs finds what agents are customized with (rules, skills, prompts, hooks, MCP servers, plugins), and reaches MCP
// servers.
type Customs interface {
	// Look returns the current customizations of a root. An entry that cannot be read has a Problem; the others still
	// work.
	Look(ctx context.Context, root CustomRoot) CustomFound

	// Follow calls changed, which must not block, after each change of a root, until stop is called.
	Follow(root CustomRoot, changed func()) (stop func())

	// ReadPlugin reads a directory of a root as a plugin, or returns false if it is not one.
	ReadPlugin(ctx context.Context, root CustomRoot, dir string) (CustomGroup, bool)

	// ReadText returns up to n bytes of a file of a root; cut reports that the file is longer.
	ReadText(ctx context.Context, root CustomRoot, path string, n int64) (text string, cut bool, err error)

	// Dial starts or connects to an MCP server, and returns once it is ready or ctx ends. It expands the command's
	// placeholders with the computer's variables. A server that requires a token causes a *ServerNeedsToken.
	Dial(ctx context.Context, spec ServerSpec) (ServerConn, error)
}

// ServerSpec says how to reach an MCP server.
type ServerSpec struct {
	Name    string
	Command ServerCommand
	Token   string // for a server reached by HTTP; "" for none
	// receives the beginning of each piece that the program writes to standard error; may be nil
	Stderr func(text string)

	Sandbox *sandbox.Policy // limits its program; nil: no limits
}

// ServerConn is a connection to an MCP server. It ends with the server, or by Close, which waits until the started
// processes are gone.
type ServerConn interface {
	// Do sends a request of the Model Context Protocol, with parameters and result as on the wire.
	Do(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Has reports whether the server announced tools, resources, prompts, or completions.
	Has(capability string) bool
	// Changed receives a value when the server's tools may have changed.
	Changed() <-chan struct{}
	// Done is closed when the connection has ended, and Err returns why.
	Done() <-chan struct{}
	Err() error
	Close()
}

// ServerNeedsToken reports that a server requires a token.
type ServerNeedsToken struct{ Auth ahp.McpAuthRequirement }

func (e *ServerNeedsToken) Error() string {
	return "it requires sign-in for " + e.Auth.Resource.Resource
}

// OwnServers is the file in the hub's data directory that declares MCP servers for every session.
const OwnServers = "mcp.json"

// CustomKind is the kind of an entry, in the protocol's terms.
type CustomKind string

// The kinds.
const (
	CustomAgent  CustomKind = "agent"
	CustomSkill  CustomKind = "skill"
	CustomPrompt CustomKind = "prompt"
	CustomRule   CustomKind = "rule"
	CustomHook   CustomKind = "hook"
	CustomServer CustomKind = "mcpServer"
)

// CustomPlace is the origin of a root's files.
type CustomPlace string

// The places.
const (
	WorkspacePlace CustomPlace = "workspace" // a working directory: any author may have written its files
	HomePlace      CustomPlace = "home"      // the user's own settings of agents
	OwnPlace       CustomPlace = "own"       // this host's data directory
)

// CustomRoot is a directory to search.
type CustomRoot struct {
	Dir   string // absolute
	As    string // the directory that ids derive from, if Dir stands in for it; "" is Dir
	Place CustomPlace
}

// CustomFound holds the customizations of a root, in a fixed order.
type CustomFound struct {
	Groups  []CustomGroup
	Servers []CustomEntry // MCP servers outside of plugins
	Over    bool          // there is more than the limit
}

// CustomGroup is a plugin, or a directory of entries of one kind.
type CustomGroup struct {
	ID, Path, Name string
	Plugin         bool
	Version        string     // of a plugin
	Contents       CustomKind // of a directory
	Problem        string     // why it cannot be read; entries have their own problems
	Entries        []CustomEntry
}

// CustomEntry is one customization.
type CustomEntry struct {
	ID          string
	Kind        CustomKind
	Name, Path  string
	Line        int // where the file declares it, from 1; 0 is the whole file
	Description string
	Model       string
	Tools       []string
	Globs       []string       // files that a rule applies to
	Always      *bool          // whether a rule always applies
	NoModel     bool           // only a person may choose it
	NoUser      bool           // a person cannot call it
	Problem     string         // why it cannot be used
	Command     *ServerCommand // of an MCP server
}
