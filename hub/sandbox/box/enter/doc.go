// Package enter is what runs first of a program in a box. It uses the standard library alone, so that it runs before
// other packages of the program are initialized: importing it is enough.
package enter

// Command is the hidden command that a box runs of the hub's program. Its argument is the descriptor of an Order.
const Command = "sandbox-exec"

// Order is what to run.
type Order struct {
	Path string
	Argv []string
	Env  []string
	Dir  string
	Keep int // descriptors below this are the program's
}
