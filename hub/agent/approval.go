package agent

import (
	"encoding/json"

	"github.com/ahphub/ahphub/hub/ahp"
)

// ApprovalKey is the session setting for which tool calls need an approval.
const ApprovalKey = "approval"

// Values of the setting.
const (
	ApprovalAsk    = "ask"    // every call that asks; the default
	ApprovalWrites = "writes" // calls that may change something; reading is allowed
	ApprovalAuto   = "auto"   // none
)

// AllowedKey is the session setting that lists the kinds of tool calls allowed for the session, by
// tool name. Answers to approvals add to it.
const AllowedKey = "allowed"

// ApprovalConfig returns the schema of those settings.
func ApprovalConfig() ahp.SessionConfigSchema {
	quoted := func(values ...string) (out []json.RawMessage) {
		for _, v := range values {
			out = append(out, json.RawMessage(`"`+v+`"`))
		}
		return out
	}
	return ahp.SessionConfigSchema{
		Type: "object",
		Properties: map[string]ahp.SessionConfigPropertySchema{
			ApprovalKey: {
				Type:        "string",
				Title:       "Approval",
				Description: "Which tool calls need approval. Requests from guests always do",
				Default:     json.RawMessage(`"` + ApprovalAsk + `"`),
				Enum:        quoted(ApprovalAsk, ApprovalWrites, ApprovalAuto),
				EnumLabels:  []string{"Ask every time", "Ask before edits and commands", "Auto-approve everything"},
				EnumDescriptions: []string{"Every tool call needs approval",
					"Reads and searches run without asking",
					"Runs commands and edits files without asking"},
				SessionMutable: ahp.Ptr(true),
			},
			AllowedKey: {
				Type:           "array",
				Title:          "Allowed without asking",
				Description:    "Kinds of tool calls that are always allowed in this session",
				Items:          &ahp.ConfigPropertySchema{Type: "string", Title: "Kind"},
				SessionMutable: ahp.Ptr(true),
			},
		},
	}
}

// OptionOutside is the answer that runs a command outside of its session's sandbox. The host offers it for commands that it
// runs itself, and only the owner may pick it.
const OptionOutside = "ahphub:outside"

// Options returns the answers to an approval, in display order. The host applies the settings when
// a readiness is confirmed, so agents always offer them.
func Options() []ahp.ConfirmationOption {
	return []ahp.ConfirmationOption{
		{ID: "approve", Label: "Approve", Kind: ahp.ConfirmationOptionKindApprove},
		{ID: "deny", Label: "Deny", Kind: ahp.ConfirmationOptionKindDeny},
	}
}
