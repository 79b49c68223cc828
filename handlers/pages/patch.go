package pages

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/templ/part"
)

// Patch is one change of an open page. It names elements by id, and its HTML is the same for everybody who sees it:
// what differs by viewer is hidden by the classes of body or lives outside of what patches touch.
type Patch struct {
	op   string
	id   string
	html string
	grow part.Growth
}

// Replace puts html in the place of the element id; where there is none, nothing happens.
// The client keeps what somebody typed or opened inside.
func Replace(id string, c templ.Component) Patch { return Patch{op: "r", id: id, html: render(c)} }

// Append puts html at the end of the element parent. An element with the same id as html's own is replaced
// instead, so a patch that comes twice does no harm.
func Append(parent string, c templ.Component) Patch {
	return Patch{op: "a", id: parent, html: render(c)}
}

// Before puts html in front of the element id, with the same rule as Append.
func Before(id string, c templ.Component) Patch { return Patch{op: "b", id: id, html: render(c)} }

// Remove takes the element away.
func Remove(id string) Patch { return Patch{op: "x", id: id} }

// Grow puts html inside the element id as a part.Growth says.
func Grow(id string, g part.Growth) Patch { return Patch{op: "i", id: id, grow: g} }

// Say has a screen reader speak: started, needs you, finished, failed; nothing else.
func Say(text string) Patch { return Patch{op: "s", html: text} }

// MarshalJSON writes the patch as the client reads it: an array.
func (p Patch) MarshalJSON() ([]byte, error) {
	switch p.op {
	case "x":
		return plainJSON([]any{p.op, p.id})
	case "i":
		if p.grow.Drop {
			return plainJSON([]any{"d", p.id, p.grow.Depth, p.grow.HTML})
		}
		return plainJSON([]any{p.op, p.id, p.grow.Depth, p.grow.HTML})
	case "s":
		return plainJSON([]any{p.op, p.html})
	}
	return plainJSON([]any{p.op, p.id, p.html})
}

// plainJSON leaves <, > and & as they are: the frames go to a script, never into a page.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// render draws a component. Components of ours fail only when their writer does, and a buffer does not.
func render(c templ.Component) string {
	b := templ.GetBuffer()
	defer templ.ReleaseBuffer(b)
	if err := c.Render(context.Background(), b); err != nil {
		return ""
	}
	return b.String()
}
