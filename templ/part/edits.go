package part

// Edits is what a tool call would change, or changed, file by file.
type Edits struct {
	Title string
	Files []DiffFile
	More  int    // files that are not shown
	Back  string // to the call
	Style string // address of the style sheet of diffs, which comes along: most chats need none
}
