package part

// Edits are the changes of a tool call by file, proposed or made.
type Edits struct {
	Title string
	Files []DiffFile
	More  int    // files not shown
	Back  string // to the call
	Style string // address of the style sheet of diffs, loaded here because most chats need none
}
