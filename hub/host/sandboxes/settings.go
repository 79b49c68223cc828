package sandboxes

import (
	"encoding/json"
	"maps"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Key is the session setting that selects the sandbox. Only the owner sets it, at the session's
// creation.
const Key = "sandbox"

// NetworkKey is the session setting for its sandbox's network. Only the owner sets it, also at
// creation.
const NetworkKey = "sandboxNetwork"

// AddSettings adds the sandbox settings to an agent's own, if sandboxes are available.
func (p *Part) AddSettings(schema ahp.SessionConfigSchema) ahp.SessionConfigSchema {
	if p.cfg.Rules == nil || !p.cfg.Rules.Works() && p.cfg.Rules.Image == "" {
		return schema
	}
	schema.Type = "object"
	schema.Properties = maps.Clone(schema.Properties)
	if schema.Properties == nil {
		schema.Properties = map[string]ahp.SessionConfigPropertySchema{}
	}
	usual, _ := p.cfg.Rules.Resolve("")
	boxed, means := p.cfg.Rules.Boxed, "Programs see this session's directories, not your other files, sessions or local ports"
	if boxed == sandbox.Landlock {
		means = "Programs open this session's directories, not your other files or sessions. They see your other programs"
	}
	raw := func(v any) json.RawMessage { b, _ := json.Marshal(v); return b } // strings always encode
	modes := ahp.SessionConfigPropertySchema{
		Type: "string", Title: "Sandbox", Description: "Limits what programs of this session can reach",
		Default: raw(usual), Enum: []json.RawMessage{raw(sandbox.None)}, EnumLabels: []string{"No sandbox"},
		EnumDescriptions: []string{"Programs can do everything that ahphub's user can"},
	}
	if boxed != "" && boxed != sandbox.Container {
		modes.Enum, modes.EnumLabels = append(modes.Enum, raw(boxed)), append(modes.EnumLabels, "Sandboxed")
		modes.EnumDescriptions = append(modes.EnumDescriptions, means)
	}
	if image := p.cfg.Rules.Image; image != "" {
		modes.Enum, modes.EnumLabels = append(modes.Enum, raw(sandbox.Container)), append(modes.EnumLabels, "Container")
		modes.EnumDescriptions = append(modes.EnumDescriptions, "Programs run in a container of the repository’s image, or "+
			image+". They see this session’s directories, not your other files, sessions or local ports")
	}
	schema.Properties[Key] = modes
	networks := ahp.SessionConfigPropertySchema{
		Type: "string", Title: "Sandbox network", Description: "Limits what programs in the sandbox reach on the network",
		Default:    raw(p.cfg.Rules.Network),
		Enum:       []json.RawMessage{raw(sandbox.Open), raw(sandbox.Closed), raw(sandbox.List)},
		EnumLabels: []string{"Open network", "No network", "Model and packages only"},
		EnumDescriptions: []string{"Everything that this server reaches, except its own ports", "No network",
			"The agent's model, package registries and hosts that the owner allowed. What was refused is listed"},
	}
	if boxed == sandbox.Landlock { // Landlock has no list of hosts and no own loopback
		networks.Enum, networks.EnumLabels = networks.Enum[:2], networks.EnumLabels[:2]
		networks.EnumDescriptions = []string{"Everything that this server reaches", "No TCP. The kernel may leave UDP open"}
	}
	schema.Properties[NetworkKey] = networks
	return schema
}
