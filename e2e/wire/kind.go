package wire

import (
	"strings"

	"github.com/ahphub/ahphub/hub/ahp"
)

var kinds = map[string]ahp.ChannelKind{
	"ahp-root": ahp.ChannelRoot, "ahp-chat": ahp.ChannelChat, "ahp-terminal": ahp.ChannelTerminal,
	"ahp-changeset": ahp.ChannelChangeset, "ahp-resource-watch": ahp.ChannelResourceWatch, "ahp-otlp": ahp.ChannelOtlp,
	"ahp-automations": ahp.ChannelAutomations, "ahp-automation-run": ahp.ChannelAutomationRun,
	"ahp-canvas": ahp.ChannelCanvas,
}

// KindOf returns the kind of a channel from its URI as spelled by this program and the
// specification. An unknown scheme is a session's, because some clients name sessions after their
// provider.
func KindOf(uri ahp.URI) ahp.ChannelKind {
	if strings.Contains(uri, "/changeset/") { // some clients name them this way, below their session
		return ahp.ChannelChangeset
	}
	if strings.HasSuffix(uri, "/annotations") {
		return ahp.ChannelAnnotations
	}
	scheme, _, _ := strings.Cut(uri, ":")
	if kind, ok := kinds[scheme]; ok {
		return kind
	}
	return ahp.ChannelSession
}
