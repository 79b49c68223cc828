package agent

import "github.com/ahphub/ahphub/hub/ahp"

// Typed reports whether a person with the right to prompt wrote a message: just now, or by making
// the automation that sends it. Agents obey only such messages as commands.
func Typed(m ahp.Message) bool {
	return m.Origin.Kind == ahp.MessageKindUser || m.Origin.Kind == ahp.MessageKindAutomation
}
