package page

import (
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// New is the form that starts a session.
type New struct {
	Frame     part.Frame
	Machine   string     // machine of Dir; "" is this server
	Computers []Computer // choices; none if there are no machines
	Dir       string     // on its machine
	Recent    []string   // directories of earlier sessions
	Agents    []ahp.AgentInfo
	Signs     map[string]string // short signs by provider: a letter or two, or one emoji
	Unsigned  map[string]bool   // agents that last asked for a login, by provider; owner only
	Agent     string
	Config    []part.Setting
	Message   string
	Problem   string // error of the last try
	Browse    Browse
	First     FirstAgent // how to get an agent besides Shell
	Setup     []part.SetupNote
	Wide      bool // Dir is the home directory or above it
}

// Computer is a computer that can run sessions.
type Computer struct {
	ID     string // "" is this server
	Name   string
	Note   string // its resources
	Closed string // why it can't run sessions now; "" if it can
}

// FirstAgent explains how to add a coding agent.
type FirstAgent struct {
	Show      bool     // no agent but Shell was found
	LookedFor []string // programs of agents that ahphub searched for
	NoNpm     bool     // npm, which installs most of them, is missing
}

// Browse is a directory listing.
type Browse struct {
	Open   bool
	Dir    string
	Parent string // "" at the top
	Names  []string
	Error  string
}

func (m New) browseHref(dir string) templ.SafeURL {
	return templ.SafeURL("/new?" + url.Values{"browse": {"yes"}, "machine": {m.Machine}, "dir": {dir}}.Encode())
}

func (m New) chooseHref(dir string) templ.SafeURL {
	return templ.SafeURL("/new?" + url.Values{"machine": {m.Machine}, "dir": {dir}}.Encode())
}

func join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }
