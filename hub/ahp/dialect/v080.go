package dialect

import (
	"encoding/json"
	"strconv"

	"github.com/ahphub/ahphub/hub/ahp"
)

// to080 converts between 0.7.0 and 0.8.0: the enablement of a customization became a list of
// decisions.
var to080 = &step{old: Version{0, 7, 0}, new: Version{0, 8, 0},
	down: map[string]edit{
		"session":                        executionsDown,
		"customization":                  enablementDown,
		"session/customizationToggled":   toggledDown,
		notificationOf + "auth/required": authDown,
	},
	up: map[string]edit{
		"customization":                enablementUp,
		"session/customizationToggled": toggledUp,
	},
	converts: []string{"PluginCustomization.enablement", "ClientPluginCustomization.enablement",
		"McpServerCustomization.enablement", "SessionCustomizationToggledAction.enablement"},
	lost: []Loss{
		{"decisions about a plugin or MCP server for a session, for a workspace and globally",
			"`enabled`, from the decision with the narrowest scope"},
		{"`session/customizationToggled {enabled}` of the client",
			"a decision for the session; decisions for the workspace and globally stay"},
		{"`auth/required` with the resource's description", "the resource's name"},
		{"a tool that waits for a client to run it", "sets `InputNeeded` in a snapshot, as in old versions"},
		{"`session/workingDirectoryReplaced`", "not sent; the next snapshot has the change"},
	},
}

// effective returns the decision that applies: the first, which has the narrowest scope.
func effective(decisions []any) bool {
	if len(decisions) == 0 {
		return true
	}
	d, _ := decisions[0].(object)
	on, ok := d["enabled"].(bool)
	return on || !ok
}

// decides reports whether the customization has decisions; others have a plain switch in every version.
func decides(o object) bool {
	return o["type"] == "plugin" || o["type"] == "mcpServer"
}

func enablementDown(_ *Context, o object) bool {
	if decides(o) {
		o["enabled"] = effective(list(o, "enablement"))
	}
	delete(o, "enablement")
	delete(o, "childEnablement")
	return true
}

func enablementUp(_ *Context, o object) bool {
	on, ok := o["enabled"].(bool)
	if !decides(o) {
		return true
	}
	if ok && !on {
		o["enablement"] = []any{object{"kind": "global", "enabled": false}}
	}
	delete(o, "enabled")
	return true
}

func toggledDown(_ *Context, o object) bool {
	o["enabled"] = effective(list(o, "enablement"))
	delete(o, "enablement")
	return true
}

// toggledUp adds a decision for the session before the wider decisions in the state.
func toggledUp(c *Context, o object) bool {
	on, ok := o["enabled"].(bool)
	delete(o, "enabled")
	if !ok {
		return true
	}
	decisions := []any{object{"kind": "session", "enabled": on}}
	if s, ok := c.State.(*ahp.SessionState); ok {
		decisions = append(decisions, wider(s.Customizations, text(o, "id"))...)
	}
	o["enablement"] = decisions
	return true
}

func wider(all []ahp.Customization, id string) []any {
	var list []ahp.CustomizationEnablement
	for _, c := range all {
		switch v := c.Value.(type) {
		case *ahp.PluginCustomization:
			if v.ID == id {
				list = v.Enablement
			}
		case *ahp.McpServerCustomization:
			if v.ID == id {
				list = v.Enablement
			}
		}
	}
	var out []any
	for _, e := range list {
		if _, own := e.Value.(*ahp.CustomizationSessionEnablement); own {
			continue
		}
		if b, err := ahp.Marshal(e); err == nil {
			if v, err := decode(b); err == nil {
				out = append(out, v)
			}
		}
	}
	return out
}

func authDown(_ *Context, o object) bool {
	if r := child(o, "resource"); r != nil {
		o["resource"] = text(r, "resource")
	}
	return true
}

// executionsDown sets InputNeeded for tools that wait for a client, as old reducers do.
func executionsDown(_ *Context, o object) bool {
	for _, r := range list(o, "inputNeeded") {
		if request, _ := r.(object); request["kind"] == "toolClientExecution" {
			setActivity(o, ahp.SessionStatusInputNeeded)
		}
	}
	return true
}

func setActivity(o object, to ahp.SessionStatus) {
	n, _ := o["status"].(json.Number)
	if status, err := n.Int64(); err == nil {
		o["status"] = json.Number(strconv.FormatInt(int64(ahp.SessionStatus(status).WithActivity(to)), 10))
	}
}

// turnActivity replaces the activity from by to.
func turnActivity(o object, from, to ahp.SessionStatus) {
	n, _ := o["status"].(json.Number)
	if status, err := n.Int64(); err == nil && ahp.SessionStatus(status).Activity() == from {
		setActivity(o, to)
	}
}
