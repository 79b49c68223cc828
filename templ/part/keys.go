package part

type keyRow struct{ keys, does string }

// keyTable is every shortcut of every page; all are off in text fields except those named composer.
var keyTable = []keyRow{
	{"?", "This help"}, {"Ctrl K", "Go to a session"}, {"g h", "Inbox"}, {"g c", "Chat"}, {"g d", "Changes"},
	{"g t", "Terminals"}, {"g r", "Threads"}, {"g a", "Next that needs me"}, {"/", "Filter"},
	{"j / k", "Line down / up"}, {"n / p", "Hunk"}, {"J / K", "File"}, {"u", "Next unreviewed file"},
	{"] / [", "Unresolved thread"}, {"v", "Reviewed, and next"}, {"V", "Hunk reviewed, and next"}, {"o", "Fold"}, {"s then j k", "Select lines"},
	{"c", "Comment"}, {"C", "Comment on the file"}, {"r", "Reply"}, {"e", "Resolve"}, {"f", "Finish the review"}, {"x / X", "More context / whole file"},
	{"m", "Split or unified"}, {"w", "Whitespace"}, {"1 – 5", "Scope"}, {"y", "Permalink"}, {"z", "Full width"}, {"Esc", "Step out"},
	{"Enter", "Composer: send, or queue while it runs"}, {"Shift Enter", "Composer: new line"},
	{"Alt Enter", "Composer: queue next"}, {"Ctrl Enter", "Composer: steer now; comment: save"},
	{"Ctrl Shift Enter", "All drafts to the agent"}, {"y / n / d", "Approval card: approve, deny, details"},
	{"Ctrl Shift F", "Terminal: find"}, {"Ctrl Shift ↑ / ↓", "Terminal: previous, next command"}, {"Ctrl Shift C / V", "Terminal: copy, paste"}, {"Ctrl Alt .", "Leave the terminal"},
}
