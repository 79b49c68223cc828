package terminal

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/ahp"
)

// partCost is the weight of a command part in addition to its text, so that a flood of empty
// commands is bounded too.
const partCost = 256

// backlog tracks the size of a terminal's content. Past its limit it replaces the content by its
// second half: terminal/cleared, then the kept tail (DESIGN promise 4). An executing command is
// started again, so that its output stays its own.
type backlog struct {
	limit   int
	cost    int
	tail    []byte // the newest text, more than a trim keeps
	command *ahp.TerminalCommandExecutedAction
	since   int // bytes of tail after command
}

// isFull reports whether the content exceeds its limit and has to be trimmed.
func (b *backlog) isFull() bool { return b.cost > b.limit }

// reset starts with empty content.
func (b *backlog) reset() { b.cost, b.tail, b.command = 0, nil, nil }

// note accounts for an action.
func (b *backlog) note(a ahp.Action) {
	switch a := a.(type) {
	case *ahp.TerminalDataAction:
		b.cost += len(a.Data)
		b.since += len(a.Data)
		b.keep(a.Data)
	case *ahp.TerminalCommandExecutedAction:
		b.cost += partCost + len(a.CommandLine)
		b.command, b.since = a, 0
	case *ahp.TerminalCommandFinishedAction:
		b.cost += partCost // the text after it is a separate part
		b.command = nil
	}
}

// keep appends text. It moves its content only once per quarter of the limit.
func (b *backlog) keep(data string) {
	if over := len(b.tail) + len(data) - b.limit; over > 0 && len(b.tail) > b.limit/4*3 {
		n := copy(b.tail, b.tail[len(b.tail)-b.limit/4*3:])
		b.tail = b.tail[:n]
	}
	b.tail = append(b.tail, data...)
}

// trim returns the actions that replace the content. The text begins with preamble, which restores
// the modes set by the text before it.
func (b *backlog) trim(preamble string) []ahp.Action {
	cut := cutAtLine(b.tail, b.limit/2)
	b.since = min(b.since, len(cut))
	kept := append(b.tail[:0], cut...) // in place: both use one array
	kept = slices.Insert(kept, 0, []byte(preamble)...)
	b.tail = kept
	out := []ahp.Action{&ahp.TerminalClearedAction{}}
	b.cost = len(kept)
	before := kept
	if b.command != nil {
		before = kept[:len(kept)-b.since]
		b.cost += partCost + len(b.command.CommandLine)
	}
	out = appendData(out, before)
	if b.command != nil {
		out = append(out, b.command)
		out = appendData(out, kept[len(before):])
	}
	return out
}

func appendData(out []ahp.Action, data []byte) []ahp.Action {
	if len(data) == 0 {
		return out
	}
	return append(out, &ahp.TerminalDataAction{Data: string(data)})
}

// cutAtLine returns at most the last n bytes, from the start of a line, or from the start of a
// character when one line is longer than half of that.
func cutAtLine(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	b = b[len(b)-n:]
	if i := bytes.IndexByte(b[:n/2], '\n'); i >= 0 {
		return b[i+1:]
	}
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return b
}
