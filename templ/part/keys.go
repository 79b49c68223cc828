package part

type keyRow struct{ keys, does string }

// keyTable is every shortcut of every page; all are off in text fields except those named composer.
var keyTable = []keyRow{
	{"?", "Keyboard shortcuts"}, {"Ctrl K", "Go to a session"}, {"g h", "Inbox"}, {"g c", "Chat"}, {"g d", "Changes"},
	{"g t", "Terminals"}, {"g r", "Threads"}, {"g a", "Next session needing attention"}, {"/", "Filter"},
	{"j / k", "Line down / up"}, {"n / p", "Hunk"}, {"J / K", "File"}, {"u", "Next unreviewed file"},
	{"] / [", "Unresolved thread"}, {"v", "Mark reviewed & next"}, {"V", "Mark hunk reviewed & next"}, {"o", "Fold"},
	{"s then j k", "Select lines"},
	{"c", "Comment"}, {"C", "Comment on file"}, {"r", "Reply"}, {"e", "Resolve"}, {"f", "Submit review"},
	{"x / X", "More context / whole file"},
	{"m", "Split or unified"}, {"w", "Whitespace"}, {"1 – 5", "Scope"}, {"y", "Permalink"}, {"z", "Full width"},
	{"Esc", "Back / close"},
	{"Enter", "Composer: send, or queue while the agent runs"}, {"Shift Enter", "Composer: new line"},
	{"Alt Enter", "Composer: queue"}, {"Ctrl Enter", "Composer: send now; comment: save"},
	{"Ctrl Shift Enter", "Send all drafts to agent"}, {"y / n / d", "Approval card: approve, deny, details"},
	{"Ctrl Shift F", "Terminal: find"}, {"Ctrl Shift ↑ / ↓", "Terminal: previous, next command"},
	{"Ctrl Shift C / V", "Terminal: copy, paste"}, {"Ctrl Alt .", "Exit terminal"},
}
