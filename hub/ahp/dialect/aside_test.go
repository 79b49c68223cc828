package dialect

const (
	noErrorInContent = "contentChanged carried an error; since 0.9 that comes by statusChanged alone, which hosts send"
	readyAgain       = "old reducers ignored toolCallReady for a call that waits; today it replaces what is asked"
	noSessionModel   = "a session has no model and no agent any more: they are those of a message"
	noAsker          = "a request outside of a turn, where nobody can ask since 0.6"
)

// setAside names the fixtures that cannot pass, by directory, with the reason.
var setAside = map[string]map[string]string{
	"0.4.0": {
		"029-toolcallready-ignores-non-streaming-non-running-tool-calls": readyAgain,
		"126-session-modelchanged-with-modelconfig":                      noSessionModel,
		"149-session-agentchanged-replaces-agent":                        noSessionModel,
		"159-changeset-contentchanged-updates-error":                     noErrorInContent,
	},
	"0.5.2": {
		"029-toolcallready-ignores-non-streaming-non-running-tool-calls":   readyAgain,
		"159-changeset-contentchanged-updates-error":                       noErrorInContent,
		"236-session-input-completion-without-active-turn-records-nothing": noAsker,
	},
	"0.6.0":   {"159-changeset-contentchanged-updates-error": noErrorInContent},
	"0.7.0":   {"159-changeset-contentchanged-updates-error": noErrorInContent},
	"0.8-dev": {"159-changeset-contentchanged-updates-error": noErrorInContent},
}
