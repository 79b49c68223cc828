package part

import "encoding/json"

// outsideOption is the answer that runs a command outside of its sandbox (agent.OptionOutside).
const outsideOption = "ahphub:outside"

// sandboxSays is what the host says in a readiness of the sandbox that its call runs in.
type sandboxSays struct {
	Mode    string // "": nothing is said
	Network string
	Image   string   // of a container
	Needs   []string // what a command seems to need that the sandbox has not
	Inside  bool     // the agent runs the call by itself
}

// sandbox returns what a pending call says of its sandbox.
func (c Tool) sandbox() sandboxSays {
	var own struct{ Sandbox sandboxSays }
	if c.Pending != nil {
		_ = json.Unmarshal(c.Pending.Meta["ahphub"], &own) // absent or another host's: nothing is said
	}
	return own.Sandbox
}

// networks are the words for the networks of sandboxes.
var networks = map[string]string{"open": "network open", "none": "no network",
	"list": "network for its model and packages"}

// allows is what the sandbox allows, in a line.
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
