package dialect

// A place names a kind of value that may need to be rewritten: the state of a channel by its kind,
// an action by its type, params, results and notifications by their method after a prefix, and
// values inside them by the names below.
const (
	paramsOf       = "params "
	resultOf       = "result "
	notificationOf = "notification "
)

// fields maps the fields of a place that hold other places, alone or in a list, to those places.
type fields map[string]string

// nestedPlaces has the structure of the protocol where versions differ, with the field names of all
// versions.
var nestedPlaces = map[string]fields{
	"root": {"terminals": "terminalInfo", "agents": "agentInfo"},
	"session": {"chats": "chatSummary", "activeClients": "activeClient", "activeClient": "activeClient",
		"customizations": "customization", "inputNeeded": "inputNeeded", "summary": "sessionSummary"},
	"chat": {"turns": "turn", "activeTurn": "turn", "steeringMessage": "pending", "queuedMessages": "pending",
		"draft": "message", "origin": "chatOrigin"},
	"terminal":    {"claim": "claim"},
	"annotations": {"annotations": "annotation"},

	"agentInfo":     {"customizations": "customization"},
	"terminalInfo":  {"claim": "claim"},
	"chatSummary":   {"origin": "chatOrigin"},
	"activeClient":  {"customizations": "customization"},
	"customization": {"children": "customization"},
	"inputNeeded":   {"toolCall": "toolCall"},
	"turn":          {"message": "message", "responseParts": "part"},
	"pending":       {"message": "message"},
	"message":       {"origin": "messageOrigin", "attachments": "attachment"},
	"part":          {"toolCall": "toolCall"},
	"toolCall":      {"content": "content", "userSuggestion": "message"},
	"toolResult":    {"content": "content"},

	"root/agentsChanged":                          {"agents": "agentInfo"},
	"root/terminalsChanged":                       {"terminals": "terminalInfo"},
	"session/chatAdded":                           {"summary": "chatSummary"},
	"session/chatUpdated":                         {"changes": "chatSummary"},
	"session/activeClientSet":                     {"activeClient": "activeClient"},
	"session/activeClientChanged":                 {"activeClient": "activeClient"},
	"session/inputNeededSet":                      {"request": "inputNeeded"},
	"session/customizationsChanged":               {"customizations": "customization"},
	"session/customizationUpdated":                {"customization": "customization"},
	"chat/turnStarted":                            {"message": "message"},
	"chat/responsePart":                           {"part": "part"},
	"chat/turnsLoaded":                            {"turns": "turn"},
	"chat/pendingMessageSet":                      {"message": "message"},
	"chat/draftChanged":                           {"draft": "message"},
	"chat/toolCallComplete":                       {"result": "toolResult"},
	"chat/toolCallConfirmed":                      {"userSuggestion": "message"},
	"chat/toolCallContentChanged":                 {"content": "content"},
	"terminal/claimed":                            {"claim": "claim"},
	"annotations/set":                             {"annotation": "annotation"},
	paramsOf + "createSession":                    {"activeClient": "activeClient"},
	paramsOf + "createChat":                       {"initialMessage": "message"},
	paramsOf + "createTerminal":                   {"claim": "claim"},
	resultOf + "listSessions":                     {"items": "sessionSummary"},
	resultOf + "fetchTurns":                       {"turns": "turn"},
	notificationOf + "root/sessionAdded":          {"summary": "sessionSummary"},
	notificationOf + "root/sessionSummaryChanged": {"changes": "sessionSummary"},
}

// edit rewrites the object of a place; false removes it.
type edit func(c *Context, o object) bool

// walk calls visit for a value and all places inside it, the innermost first, and removes those for
// which it returns false.
func walk(place string, o object, visit func(place string, o object) bool) bool {
	for key, of := range nestedPlaces[place] {
		switch v := o[key].(type) {
		case object:
			if !walk(of, v, visit) {
				delete(o, key)
			}
		case []any:
			kept := v[:0]
			for _, e := range v {
				if eo, ok := e.(object); !ok || walk(of, eo, visit) {
					kept = append(kept, e)
				}
			}
			o[key] = kept
		}
	}
	return visit(place, o)
}
