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
	Frame   part.Frame
	Dir     string
	Recent  []string // directories of earlier sessions
	Agents  []ahp.AgentInfo
	Signs   map[string]string // of agents that have one, by provider: a letter or two, or one emoji
	Agent   string
	Config  []part.Setting
	Message string
	Problem string // why the last try was refused
	Browse  Browse
	First   FirstAgent // how to get an agent besides Shell
	Setup   []part.SetupNote
	Wide    bool // Dir is the home directory or above it
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

func browseHref(dir string) templ.SafeURL {
	return templ.SafeURL("/new?browse=yes&dir=" + url.QueryEscape(dir))
}

func join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }
