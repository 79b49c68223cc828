package page

import (
	"strconv"
	"strings"
)

// Customizations is the page of what a session's agent is customized with.
type Customizations struct {
	Base     string
	Agent    string // the agent's name
	Given    bool   // it can be given MCP servers
	Over     bool   // there is more than is shown
	Sections []CustomSection
}

// CustomSection holds entries of one kind, or plugins. ID is the region's.
type CustomSection struct {
	ID, Title, Hint string
	Empty           string // what to put where, when there is nothing
	Groups          []CustomGroup
}

// CustomGroup is a directory, a plugin, or a file that declares servers.
type CustomGroup struct {
	Name, Note string // Note says whose it is
	Problem    string
	Switch     *CustomSwitch // nil: only its entries are switched
	Rows       []CustomRow
}

// CustomRow is one entry.
type CustomRow struct {
	Name, Kind, About, Problem string
	Href                       string   // its text; "" is not shown
	Facts                      []string // what else it says of itself
	Switch                     *CustomSwitch
	Server                     *CustomServer
}

// CustomSwitch is whether an entry is used, and how far that was decided.
type CustomSwitch struct {
	Base, ID, Name string
	On             bool
	Scope          string // of the decision that counts: session, workspace, all; "" for none
	Within         string // what is off around it
}

// CustomServer is an MCP server's life.
type CustomServer struct {
	Base, ID     string
	State, Class string // a word, and how it looks
	Icon         string
	Why          string // what went wrong, or what it asks for
	Trusted, Own bool
	By, Digest   string
	Command, Dir string
	Sets, Reads  []string
	Tools        []CustomTool
	CanStart     bool
	CanStop      bool
}

// remote reports whether it is reached by an address.
func (s CustomServer) remote() bool {
	return strings.HasPrefix(s.Command, "http://") || strings.HasPrefix(s.Command, "https://")
}

// CustomTool is a tool of a server.
type CustomTool struct{ Name, Title, About string }

// count is how many entries a section has.
func (s CustomSection) count() string {
	n := 0
	for _, g := range s.Groups {
		n += len(g.Rows)
	}
	return strconv.Itoa(n)
}

var scopes = [][2]string{{"session", "In this session"}, {"workspace", "In this workspace"}, {"all", "Everywhere"}}

// said tells how far a decision reaches.
func (s CustomSwitch) said() string {
	word := "On"
	if !s.On {
		word = "Off"
	}
	if s.Within != "" {
		return "Off with " + s.Within
	}
	for _, sc := range scopes {
		if sc[0] == s.Scope {
			return word + " " + strings.ToLower(sc[1])
		}
	}
	return word
}

func (s CustomSwitch) to() string {
	if s.On {
		return "off"
	}
	return "on"
}

func (s CustomSwitch) label() string { return "Turn " + s.to() }

// FileText is the text of one entry.
type FileText struct {
	Base, Name, Path, Text string
	Cut                    bool
}
