// Package enter runs in a box before any program of the session: as the box's first process, and as the step before
// each program. It uses so little of the standard library that it runs before other packages of the program are
// initialized: importing it is enough.
package enter

import (
	"errors"
	"strconv"
)

// Hidden commands of the hub's program that run in a box.
const (
	Command     = "sandbox-exec" // starts a program; its argument is the file descriptor of an Order
	HoldCommand = "sandbox-hold" // the first process of a box; its arguments are ports to relay

	// ServeCommand is the first process of a container. Its arguments are the hub's socket, the container's image and
	// ports to relay.
	ServeCommand = "sandbox-serve"

	// JoinCommand waits outside for a program that a container's first process starts. Its argument is the first file
	// descriptor after the program's: of an Order, a pipe to keep open, and a socket to that process.
	JoinCommand = "sandbox-join"
)

// The first process's file descriptors, and the messages on the first of them.
const (
	ControlFD = 4 // one message for each request and each answer
	RelayFD   = 5 // one message for each relayed connection: the index of its relay, and the connection

	SayReady   = "ready"
	AskPty     = "pty"
	SayFailure = "failed: "

	AskRun  = "run"     // has a socket, for the rest of JoinCommand's messages
	AskNet  = "network" // answered with the network namespace, and the user namespace of the process
	AskLook = "look "   // followed by a path: answered with the file there, opened with O_PATH
)

// Messages on the socket of one program.
const (
	SayStart  = "start"   // with an Order and the program's file descriptors
	SaySignal = "signal " // followed by a number: a signal for the program, or the one that ended it
	SayExit   = "exit "   // followed by a status
	MostFDs   = 64        // file descriptors with one message
)

// Order is the program to run. It has no zero bytes, as programs cannot get any.
type Order struct {
	Path string
	Argv []string
	Env  []string
	Dir  string
	Keep int // lower file descriptors are the program's

	// Terminal is one more than the index of the program's file descriptor for its terminal; 0: none. Only the first
	// process of a container reads it: elsewhere, the program inherits the terminal of the process outside.
	Terminal int

	// Ruleset is the file descriptor of the program's Landlock rules; 0: it has namespaces instead.
	Ruleset int
}

// Encode encodes an order for parse. It avoids JSON, whose package is initialized later.
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
