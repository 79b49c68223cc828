package agent

import "github.com/ahphub/ahphub/hub/ahp"

// Typed reports whether somebody with the right to prompt wrote a message: just now, or when they made the automation that
// sends it. Only that is ever obeyed as a command.
func Typed(m ahp.Message) bool {
	return m.Origin.Kind == ahp.MessageKindUser || m.Origin.Kind == ahp.MessageKindAutomation
}
