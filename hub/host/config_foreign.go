package host

import (
	"encoding/json"
	"slices"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
)

// autoApproveKey is the setting by which editors say what approvalKey says here.
const autoApproveKey = "autoApprove"

// approvalOf lists the values of autoApprove that mean the same as one of approval. Every other value means that a
// person is asked.
var approvalOf = map[string]string{"default": agent.ApprovalAsk, "autoApprove": agent.ApprovalAuto}

// strictest lists the settings that bound what runs, and the value that bounds it most.
var strictest = map[string]string{approvalKey: agent.ApprovalAsk, worktrees.IsolationKey: worktrees.IsolationWorktree}

// knownSettings returns those of a client's settings that a schema has. Others are left out, and so are values that a
// setting does not have, which leaves its default; a setting that bounds what runs becomes the strictest instead. What
// the client asked for by autoApprove is returned as approval, unless it names that too.
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

// withApproval adds approval to settings that have autoApprove alone. An agent that has a setting of that name
// keeps it.
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

// encodeString returns a string as JSON.
func encodeString(s string) json.RawMessage {
	b, _ := json.Marshal(s) // strings always encode
	return b
}
