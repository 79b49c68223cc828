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
	Machine   string     // that Dir is on; "" is this server
	Computers []Computer // to choose from; none when no machine has joined
	Dir       string     // on its machine
	Recent    []string   // directories of earlier sessions
	Agents    []ahp.AgentInfo
	Signs     map[string]string // of agents that have one, by provider: a letter or two, or one emoji
	Unsigned  map[string]bool   // agents that wanted a login last, by provider; for the owner alone
	Agent     string
	Config    []part.Setting
	Message   string
	Problem   string // why the last try was refused
	Browse    Browse
	First     FirstAgent // how to get an agent besides Shell
	Setup     []part.SetupNote
	Wide      bool // Dir is the home directory or above it
}

// Computer is where a session can run.
type Computer struct {
	ID     string // "" is this server
	Name   string
	Note   string // what it has to offer
	Closed string // why no session can be started there now; "" when one can
}

// FirstAgent says how to add a coding agent, and what was found until now.
type FirstAgent struct {
	Show      bool     // there is none yet
	LookedFor []string // programs of agents that are found by themselves
	NoNpm     bool     // npm is missing, which installs most of them
}

// Browse is a directory listing to choose from.
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
