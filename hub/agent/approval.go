package agent

import (
	"encoding/json"

	"github.com/ahphub/ahphub/hub/ahp"
)

// ApprovalKey is the session setting that says whether tool calls wait for a
// person: "ask" (the default) or "auto".
const ApprovalKey = "approval"

// ApprovalConfig is the schema of that setting.
func ApprovalConfig() ahp.SessionConfigSchema {
	return ahp.SessionConfigSchema{
		Type: "object",
		Properties: map[string]ahp.SessionConfigPropertySchema{
			ApprovalKey: {
				Type:             "string",
				Title:            "Approval",
				Description:      "Whether a command waits for somebody to approve it",
				Default:          json.RawMessage(`"ask"`),
				Enum:             []json.RawMessage{json.RawMessage(`"ask"`), json.RawMessage(`"auto"`)},
				EnumLabels:       []string{"Ask first", "Run at once"},
				EnumDescriptions: []string{"Every command waits for an approval", "Commands run without asking"},
				SessionMutable:   ahp.Ptr(true),
			},
		},
	}
}

// Options are the answers to an approval, in the order they are shown. The host
// applies the setting when a readiness is confirmed, so agents always offer them.
func Options() []ahp.ConfirmationOption {
	return []ahp.ConfirmationOption{
		{ID: "approve", Label: "Approve", Kind: ahp.ConfirmationOptionKindApprove},
		{ID: "deny", Label: "Deny", Kind: ahp.ConfirmationOptionKindDeny},
	}
}
