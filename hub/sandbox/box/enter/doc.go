// Package enter is what runs in a box before any program of the session: the box's first process, and what becomes each
// program. It uses little of the standard library alone, so that it runs before other packages of the program are
// initialized: importing it is enough.
package enter

import (
	"errors"
	"strconv"
)

// Hidden commands that a box runs of the hub's program.
const (
	Command     = "sandbox-exec" // begins a program; its argument is the descriptor of an Order
	HoldCommand = "sandbox-hold" // the first process of a box; its arguments are ports to relay

	// ServeCommand is the first process of a container. Its arguments are the socket of the hub, the container's image
	// and ports to relay.
	ServeCommand = "sandbox-serve"

	// JoinCommand waits outside for a program that the first process of a container starts. Its argument is the first
	// descriptor after the program's: of an Order, a pipe that it keeps open, and a socket to that process.
	JoinCommand = "sandbox-join"
)

// The first process's descriptors, and what is said on the first of them.
const (
	ControlFD = 4 // one message for each request and each answer
	RelayFD   = 5 // one message for each relayed connection: the index of its relay, and the connection

	SayReady   = "ready"
	AskPty     = "pty"
	SayFailure = "failed: "

	AskRun  = "run"     // comes with a socket, on which JoinCommand says the rest
	AskNet  = "network" // is answered with the network namespace, and the user namespace of the process
	AskLook = "look "   // and a path: is answered with what is there, opened for its path alone
)

// What is said on the socket of one program.
const (
	SayStart  = "start"   // with an Order and the program's descriptors
	SaySignal = "signal " // and a number: to the program, or what ended it
	SayExit   = "exit "   // and a status
	MostFDs   = 64        // with one message
)

// Order is what to run. Nothing in it has a zero byte, as nothing has that a program can be given.
type Order struct {
	Path string
	Argv []string
	Env  []string
	Dir  string
	Keep int // descriptors below this are the program's

	// Terminal is one more than which of the program's descriptors is its terminal; 0: it has none. The first process of a
	// container looks at it alone: elsewhere, the program has what the process outside has.
	Terminal int

	// Ruleset is the descriptor of what Landlock lets the program do; 0: it has namespaces instead.
	Ruleset int
}

// Encode writes an order for parse. JSON would be read by a package that is initialized later.
func (o Order) Encode() []byte {
	var raw []byte
	add := func(field string) { raw = append(append(raw, field...), 0) }
	add(strconv.Itoa(o.Keep))
	add(strconv.Itoa(o.Ruleset))
	add(strconv.Itoa(o.Terminal))
	add(o.Dir)
	add(o.Path)
	add(strconv.Itoa(len(o.Argv)))
	for _, arg := range o.Argv {
		add(arg)
	}
	for _, variable := range o.Env {
		add(variable)
	}
	return raw
}

func parse(raw []byte) (o Order, err error) {
	var fields []string
	begin := 0
	for i, b := range raw {
		if b == 0 {
			fields, begin = append(fields, string(raw[begin:i])), i+1
		}
	}
	incomplete := errors.New("it is incomplete")
	if len(fields) < 6 {
		return o, incomplete
	}
	o.Dir, o.Path = fields[3], fields[4]
	many, err := strconv.Atoi(fields[5])
	if err != nil || many < 1 || many > len(fields)-6 {
		return o, incomplete
	}
	o.Argv, o.Env = fields[6:6+many], fields[6+many:]
	if o.Ruleset, err = strconv.Atoi(fields[1]); err != nil || o.Ruleset < 0 {
		return o, incomplete
	}
	if o.Terminal, err = strconv.Atoi(fields[2]); err != nil || o.Terminal < 0 {
		return o, incomplete
	}
	if o.Keep, err = strconv.Atoi(fields[0]); err != nil || o.Keep < 3 || o.Path == "" || o.Path[0] != '/' {
		return o, incomplete
	}
	return o, nil
}
