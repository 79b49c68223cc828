package part

import "github.com/a-h/templ"

// ThreadText is a comment's Markdown as HTML; Markdown leaves nothing in that could run or load.
func ThreadText(e *Entry) templ.Component { return templ.Raw(Markdown(e.Text)) }
