package worktrees

import (
	"encoding/json"
	"maps"

	"github.com/ahphub/ahphub/hub/ahp"
)

// Session settings for where the session works.
const (
	IsolationKey = "isolation"    // IsolationFolder or IsolationWorktree
	BaseKey      = "worktreeBase" // the ref at which the worktree starts

	IsolationFolder   = "folder"
	IsolationWorktree = "worktree"
)

// isolationEnum holds the JSON of the values of IsolationKey.
var isolationEnum = [...]json.RawMessage{json.RawMessage(`"` + IsolationFolder + `"`),
	json.RawMessage(`"` + IsolationWorktree + `"`)}

// AddSettings adds the worktree settings, which apply to every agent, to an agent's own.
func (p *Part) AddSettings(schema ahp.SessionConfigSchema) ahp.SessionConfigSchema {
	if p.cfg.Repositories == nil {
		return schema
	}
	schema.Type = "object"
	schema.Properties = maps.Clone(schema.Properties)
	if schema.Properties == nil {
		schema.Properties = map[string]ahp.SessionConfigPropertySchema{}
	}
	schema.Properties[IsolationKey] = ahp.SessionConfigPropertySchema{
		Type: "string", Title: "Workspace", Description: "The current directory or a new git worktree",
		Default: isolationEnum[0], Enum: isolationEnum[:],
		EnumLabels: []string{"Current directory", "New worktree"},
		EnumDescriptions: []string{"Shares changes with other sessions here",
			"Isolated branch from the latest commit; merge when you're ready"},
	}
	schema.Properties[BaseKey] = ahp.SessionConfigPropertySchema{
		Type: "string", Title: "Worktree base",
		Description: "A branch, tag or commit. Leave empty to use the current checkout",
		EnumDynamic: ahp.Ptr(true),
	}
	return schema
}
