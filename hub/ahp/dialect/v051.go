package dialect

// to051 converts between 0.5.0 and 0.5.1: older turns and long lists come in pages. The connection
// answers fetchTurns of old clients, because that needs the chat's turns.
var to051 = &step{old: Version{0, 5, 0}, new: Version{0, 5, 1},
	up: map[string]edit{
		paramsOf + "listSessions": func(_ *Context, o object) bool { delete(o, "filter"); return true },
	},
	lost: []Loss{
		{"status of a session that waits for a person", "unchanged until the next snapshot"},
		{"`fetchTurns {cursor}` and `chat/turnsLoaded`",
			"`fetchTurns {before, limit}`, answered by `{turns, hasMore}`"},
		{"pages of `listSessions`", "the whole list"},
		{"`listSessions.filter` of the client", "ignored; the client receives the whole list"},
	},
}
