package terminal

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ahphub/ahphub/hub/machine"
)

// The hub marks positions in a feed's output with its own sequence, which is never part of
// terminal/data and which programs cannot print: the beginning of a prompt, and the command typed
// at it. In a picture, a command's mark is in its line.
const (
	promptPlace = "A"
	placedHere  = "="
)

// places tracks the marks while an emulator draws, by line from the first of the terminal.
type places struct {
	dropped int            // lines that left the scrollback
	at      map[int]string // commands by line
	prompt  int            // line of the last prompt; -1 once a command was typed at it
}

func (e *emulator) followPlaces() {
	e.places = places{at: map[int]string{}, prompt: -1}
	number, err := strconv.Atoi(machine.PlaceNumber)
	if err != nil {
		return
	}
	e.vt.RegisterOscHandler(number, func(data []byte) bool {
		if _, what, ok := strings.Cut(string(data), ";"); ok && !e.vt.IsAltScreen() {
			e.places.note(what, e.top()+e.vt.CursorPosition().Y)
		}
		return true
	})
}

func (p *places) note(what string, line int) {
	command, here := strings.CutPrefix(what, placedHere)
	switch {
	case what == promptPlace:
		p.prompt = line
	case here:
		p.at[line] = command
	case p.prompt >= 0:
		p.at[p.prompt], p.prompt = what, -1
	default:
		p.at[line-1] = what
	}
}

// top returns the number of the screen's first line.
func (e *emulator) top() int { return e.places.dropped + e.vt.ScrollbackLen() }

// trim bounds the scrollback after some output, and counts removed lines.
func (e *emulator) trim() {
	over := e.vt.ScrollbackLen() - scrollbackLines
	if over <= 0 {
		return
	}
	e.vt.SetScrollbackSize(scrollbackLines)
	e.vt.SetScrollbackSize(2 * scrollbackLines)
	e.places.dropped += over
}

// dropErasedPlaces removes the marks in an erased part of the display.
func (e *emulator) dropErasedPlaces(p ansi.Params) {
	if e.vt.IsAltScreen() {
		return
	}
	how, _, _ := p.Param(0, 0)
	cursor, top := e.vt.CursorPosition(), e.top()
	y := top + cursor.Y
	for line := range e.places.at {
		switch {
		case how == 0 && (line > y || line == y && cursor.X == 0), how == 1 && line >= top && line < y, how == 2 &&
			line >= top, how == 3 && line < top:
			delete(e.places.at, line)
		}
	}
}

// place returns the mark of a line in a picture.
func (e *emulator) place(line int) string {
	if command, ok := e.places.at[line]; ok {
		return machine.CommandPlace(placedHere + command)
	}
	if line == e.places.prompt {
		return machine.CommandPlace(promptPlace)
	}
	return ""
}
