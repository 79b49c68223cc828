package part

import "encoding/json"

// outsideOption is the option that runs a command outside of its sandbox (agent.OptionOutside).
const outsideOption = "ahphub:outside"

// sandboxSays is the host's description of a pending call's sandbox.
type sandboxSays struct {
	Mode    string // "": no description
	Network string
	Image   string   // of a container
	Needs   []string // what a command seems to need and the sandbox lacks
	Inside  bool     // the agent itself runs the call
}

// sandbox returns the description of a pending call's sandbox.
func (c Tool) sandbox() sandboxSays {
	var own struct{ Sandbox sandboxSays }
	if c.Pending != nil {
		_ = json.Unmarshal(c.Pending.Meta["ahphub"], &own) // absent or another host's: no description
	}
	return own.Sandbox
}

// networks describe the networks of sandboxes.
var networks = map[string]string{"open": "network open", "none": "no network",
	"list": "network for its model and packages"}

// allows describes what the sandbox allows, in one line.
func (s sandboxSays) allows() string {
	text := "Sandbox: this session's files"
	if s.Mode == "container" {
		text = "Container (image " + s.Image + "): this session's files"
	}
	if s.Mode == "landlock" {
		text = "Partial sandbox: this session's files"
	} else if word := networks[s.Network]; word != "" {
		text += ", " + word
	}
	if s.Inside {
		text += ". The agent runs it itself, always inside"
	}
	return text
}
