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
)

// The first process's descriptors, and what is said on the first of them.
const (
	ControlFD = 4 // one message for each request and each answer
	RelayFD   = 5 // one message for each relayed connection: the index of its relay, and the connection

	SayReady   = "ready"
	AskPty     = "pty"
	SayFailure = "failed: "
)

// Order is what to run. Nothing in it has a zero byte, as nothing has that a program can be given.
type Order struct {
	Path string
	Argv []string
	Env  []string
	Dir  string
	Keep int // descriptors below this are the program's

	// Ruleset is the descriptor of what Landlock lets the program do; 0: it has namespaces instead.
	Ruleset int
}

// Encode writes an order for parse. JSON would be read by a package that is initialized later.
func (o Order) Encode() []byte {
	var raw []byte
	add := func(field string) { raw = append(append(raw, field...), 0) }
	add(strconv.Itoa(o.Keep))
	add(strconv.Itoa(o.Ruleset))
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
	if len(fields) < 5 {
		return o, incomplete
	}
	o.Dir, o.Path = fields[2], fields[3]
	many, err := strconv.Atoi(fields[4])
	if err != nil || many < 1 || many > len(fields)-5 {
		return o, incomplete
	}
	o.Argv, o.Env = fields[5:5+many], fields[5+many:]
	if o.Ruleset, err = strconv.Atoi(fields[1]); err != nil || o.Ruleset < 0 {
		return o, incomplete
	}
	if o.Keep, err = strconv.Atoi(fields[0]); err != nil || o.Keep < 3 || o.Path == "" || o.Path[0] != '/' {
		return o, incomplete
	}
	return o, nil
}
