package part

type keyRow struct{ keys, does string }

type keyGroup struct {
	title string
	rows  []keyRow
}

// keyGroups are the shortcuts of all pages by area. In text fields, only those of the composer work.
var keyGroups = []keyGroup{
	{"General", []keyRow{{"?", "Keyboard shortcuts"}, {"Ctrl+K", "Go to a session, file or command"}, {"/", "Filter"},
		{"Esc", "Back / close"}}},
	{"Go to", []keyRow{{"g h", "Inbox"}, {"g c", "Chat"}, {"g d", "Changes"}, {"g r", "Threads"}, {"g t", "Terminals"},
		{"g a", "Next session needing attention"}}},
	{"Move in changes", []keyRow{{"j / k", "Line down / up"}, {"n / p", "Hunk"}, {"J / K", "File"},
		{"u", "Next unreviewed file"}, {"] / [", "Unresolved thread"}, {"x / X", "More context / whole file"},
		{"o", "Fold"}, {"z", "Full width"}, {"m", "Split or unified"}, {"w", "Whitespace"}, {"1 – 5", "Scope"}}},
	{"Review", []keyRow{{"c", "Comment"}, {"C", "Comment on file"}, {"s then j k", "Select lines"}, {"r", "Reply"},
		{"e", "Resolve"}, {"v", "Mark reviewed & next"}, {"V", "Mark hunk reviewed & next"}, {"f", "Submit review"},
		{"y", "Permalink"}, {"Ctrl+Shift+Enter", "Send all drafts to agent"}}},
	{"Composer and approvals", []keyRow{{"Enter", "Send, or queue while the agent runs"}, {"Shift+Enter", "New line"},
		{"Alt+Enter", "Queue"}, {"Ctrl+Enter", "Send now; in a comment, save"},
		{"y / n / d", "Approve, deny, details of the request"}}},
	{"Terminal", []keyRow{{"Ctrl+Shift+F", "Find"}, {"Ctrl+Shift+↑ / ↓", "Previous, next command"},
		{"Ctrl+Shift+C / V", "Copy, paste"}, {"Ctrl+Alt+.", "Exit terminal"}}},
}
