package host

import (
	"encoding/json"
	"slices"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
)

// autoApproveKey is the editors' equivalent of approvalKey.
const autoApproveKey = "autoApprove"

// approvalOf maps values of autoApprove to values of approval. All other values require approval.
var approvalOf = map[string]string{"default": agent.ApprovalAsk, "autoApprove": agent.ApprovalAuto}

// strictest maps the settings that bound what runs to their strictest values.
var strictest = map[string]string{approvalKey: agent.ApprovalAsk, worktrees.IsolationKey: worktrees.IsolationWorktree}

// knownSettings returns the settings of a client that the schema has. It drops other settings, and
// invalid values, for which the default applies. A setting that bounds what runs gets its strictest
// value instead. autoApprove is converted to approval, unless the client sent both.
func knownSettings(schema ahp.SessionConfigSchema, asked ahp.Meta) ahp.Meta {
	known := ahp.Meta{}
	for key, value := range withApproval(schema, asked) {
		p, ok := schema.Properties[key]
		strict, bounds := strictest[key]
		switch wrong := checkSetting(schema, key, value) != ""; {
		case !ok:
		case wrong && bounds && allows(p, encodeString(strict)):
			known[key] = encodeString(strict)
		case wrong && isType(p.Type, value):
		default:
			known[key] = value
		}
	}
	return known
}

// withApproval converts autoApprove to approval. It leaves settings unchanged that have approval,
// or whose agent has its own autoApprove.
func withApproval(schema ahp.SessionConfigSchema, asked ahp.Meta) ahp.Meta {
	foreign, given := asked[autoApproveKey]
	_, agents := schema.Properties[autoApproveKey]
	if _, named := asked[approvalKey]; !given || agents || named {
		return asked
	}
	asked = core.CloneMeta(asked)
	delete(asked, autoApproveKey)
	var value string
	_ = json.Unmarshal(foreign, &value) // anything but a string is an unknown value
	if asked[approvalKey] = encodeString(strictest[approvalKey]); approvalOf[value] != "" {
		asked[approvalKey] = encodeString(approvalOf[value])
	}
	return asked
}

func allows(p ahp.SessionConfigPropertySchema, value json.RawMessage) bool {
	return len(p.Enum) == 0 || slices.ContainsFunc(p.Enum, func(e json.RawMessage) bool { return sameJSON(e, value) })
}

// encodeString encodes a string as JSON.
func encodeString(s string) json.RawMessage {
	b, _ := json.Marshal(s) // strings always encode
	return b
}
