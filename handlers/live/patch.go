package live

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/templ/part"
)

// Op is what a patch does, as static/js/patch.js applies it.
type Op string

// The operations of patches.
const (
	OpReplace Op = "r"
	OpAppend  Op = "a"
	OpBefore  Op = "b"
	OpRemove  Op = "x"
	OpGrow    Op = "i"
	OpSay     Op = "s"

	opDrop Op = "d" // OpGrow that also removes the end of the element
)

// Patch is one change of an open page. It names elements by id. Its HTML is the same for all viewers:
// differences between viewers are hidden by the classes of body, or are outside of patched elements.
type Patch struct {
	Op   Op
	ID   string
	HTML string
	Grow part.Growth // of OpGrow
}

// Replace replaces the element id with c, if it exists. The client keeps what its reader typed or opened inside.
func Replace(id string, c templ.Component) Patch { return ReplaceHTML(id, Render(c)) }

// ReplaceHTML is Replace for HTML that was rendered before.
func ReplaceHTML(id, html string) Patch { return Patch{Op: OpReplace, ID: id, HTML: html} }

// Append adds c at the end of the element parent. An element with the same id as c is replaced
// instead, so applying a patch twice does no harm.
func Append(parent string, c templ.Component) Patch {
	return Patch{Op: OpAppend, ID: parent, HTML: Render(c)}
}

// Before inserts c before the element id. Like Append, it replaces an element with the same id.
func Before(id string, c templ.Component) Patch {
	return Patch{Op: OpBefore, ID: id, HTML: Render(c)}
}

// Remove removes the element.
func Remove(id string) Patch { return Patch{Op: OpRemove, ID: id} }

// Grow inserts HTML into the element id at the place that g names.
func Grow(id string, g part.Growth) Patch { return Patch{Op: OpGrow, ID: id, Grow: g} }

// Say makes screen readers announce text, only for these events: started, needs you, finished, failed.
func Say(text string) Patch { return Patch{Op: OpSay, HTML: text} }

// MarshalJSON writes the patch as the client reads it: an array.
func (p Patch) MarshalJSON() ([]byte, error) {
	switch p.Op {
	case OpRemove:
		return marshalPlain([]any{p.Op, p.ID})
	case OpGrow:
		op := OpGrow
		if p.Grow.Drop {
			op = opDrop
		}
		return marshalPlain([]any{op, p.ID, p.Grow.Depth, p.Grow.HTML})
	case OpSay:
		return marshalPlain([]any{p.Op, p.HTML})
	}
	return marshalPlain([]any{p.Op, p.ID, p.HTML})
}

// marshalPlain encodes v without escaping <, > and &: a script reads frames, and they are never part of HTML.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// Render renders a component. Our components fail only if their writer does, and a buffer does not.
func Render(c templ.Component) string {
	b := templ.GetBuffer()
	defer templ.ReleaseBuffer(b)
	if err := c.Render(context.Background(), b); err != nil {
		return ""
	}
	return b.String()
}
