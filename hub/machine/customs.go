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
	// Look returns what a root has now. What cannot be read is a problem of its entry alone.
	Look(ctx context.Context, root CustomRoot) CustomFound

	// Follow calls changed, which must not block, after each change of a root, until stop.
	Follow(root CustomRoot, changed func()) (stop func())

	// ReadPlugin reads a directory of a root as a plugin; false when it is none.
	ReadPlugin(ctx context.Context, root CustomRoot, dir string) (CustomGroup, bool)

	// ReadText returns at most the first n bytes of a file of a root; cut reports that there are more.
	ReadText(ctx context.Context, root CustomRoot, path string, n int64) (text string, cut bool, err error)

	// Dial starts an MCP server, or connects to it, and returns once it is ready or ctx ends. It fills in the
	// command's placeholders with the computer's variables. The error of a server that wants a token is a
	// *ServerNeedsToken.
	Dial(ctx context.Context, spec ServerSpec) (ServerConn, error)
}

// ServerSpec says how an MCP server is reached.
type ServerSpec struct {
	Name    string
	Command ServerCommand
	Token   string // sent to a server that is reached by HTTP; "" for none
	// receives the beginning of each piece that its program writes to standard error; may be nil
	Stderr func(text string)

	Sandbox *sandbox.Policy // what its program is kept from; nil: nothing
}

// ServerConn is a connection to an MCP server. It ends by itself with the server, or by Close, which waits until what
// was started is gone.
type ServerConn interface {
	// Do sends a request of the Model Context Protocol: parameters and result as they are on the wire.
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

// ServerNeedsToken is the error of a server that wants a token.
type ServerNeedsToken struct{ Auth ahp.McpAuthRequirement }

func (e *ServerNeedsToken) Error() string {
	return "it requires sign-in for " + e.Auth.Resource.Resource
}

// OwnServers is the file in the hub's data directory that declares MCP servers for every session.
const OwnServers = "mcp.json"

// CustomKind is the kind of an entry, in the protocol's words.
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
	WorkspacePlace CustomPlace = "workspace" // a working directory: its files may be by any author
	HomePlace      CustomPlace = "home"      // the user's own settings of agents
	OwnPlace       CustomPlace = "own"       // this host's data directory
)

// CustomRoot is a directory to look in.
type CustomRoot struct {
	Dir   string // absolute
	As    string // the directory that ids are made of, where Dir stands for another; "" is Dir
	Place CustomPlace
}

// CustomFound holds the customizations of a root, in a fixed order.
type CustomFound struct {
	Groups  []CustomGroup
	Servers []CustomEntry // MCP servers that no plugin declares
	Over    bool          // there is more than is looked at
}

// CustomGroup is a plugin, or a directory of entries of one kind.
type CustomGroup struct {
	ID, Path, Name string
	Plugin         bool
	Version        string     // of a plugin
	Contents       CustomKind // of a directory
	Problem        string     // why nothing could be read; entries have problems of their own
	Entries        []CustomEntry
}

// CustomEntry is one customization.
type CustomEntry struct {
	ID          string
	Kind        CustomKind
	Name, Path  string
	Line        int // where in the file it is declared, from 1; 0 is the whole file
	Description string
	Model       string
	Tools       []string
	Globs       []string       // files that a rule is for
	Always      *bool          // a rule that always applies, or does not
	NoModel     bool           // a model may not choose it by itself
	NoUser      bool           // a person cannot call it
	Problem     string         // why it cannot be used
	Command     *ServerCommand // of an MCP server
}
