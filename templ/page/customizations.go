package page

import (
	"strconv"
	"strings"
)

// Customizations is the page of a session's customizations.
type Customizations struct {
	Base     string
	Agent    string // the agent's name
	Given    bool   // it accepts MCP servers
	Over     bool   // there are more than shown
	Sections []CustomSection
}

// CustomSection holds entries of one kind, or plugins. ID is the region's.
type CustomSection struct {
	ID, Title, Hint string
	Empty           string // hint when there are no entries
	Groups          []CustomGroup
}

// CustomGroup is a directory, a plugin, or a file that declares servers.
type CustomGroup struct {
	Name, Note string // Note names the owner
	Problem    string
	Switch     *CustomSwitch // nil: only its entries have switches
	Rows       []CustomRow
}

// CustomRow is one entry.
type CustomRow struct {
	Name, Kind, About, Problem string
	Href                       string   // address of its text; "" is none
	Facts                      []string // further details
	Switch                     *CustomSwitch
	Server                     *CustomServer
}

// CustomSwitch is whether an entry is on, and the scope of that decision.
type CustomSwitch struct {
	Base, ID, Name string
	On             bool
	Scope          string // of the effective decision: session, workspace, all; "" for none
	Within         string // the enclosing entry that is off
}

// CustomServer is the state of an MCP server.
type CustomServer struct {
	Base, ID     string
	State, Class string // a word, and its style
	Icon         string
	Why          string // the error, or what it needs
	Trusted, Own bool
	By, Digest   string
	Command, Dir string
	Sets, Reads  []string
	Tools        []CustomTool
	CanStart     bool
	CanStop      bool
}

// remote reports whether the server has a web address.
func (s CustomServer) remote() bool {
	return strings.HasPrefix(s.Command, "http://") || strings.HasPrefix(s.Command, "https://")
}

// CustomTool is a tool of a server.
type CustomTool struct{ Name, Title, About string }

// count returns the number of a section's entries.
func (s CustomSection) count() string {
	n := 0
	for _, g := range s.Groups {
		n += len(g.Rows)
	}
	return strconv.Itoa(n)
}

var scopes = [][2]string{{"session", "In this session"}, {"workspace", "In this workspace"}, {"all", "Everywhere"}}

// said describes the decision and its scope.
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
