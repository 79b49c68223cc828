package page

import (
	"strconv"

	"github.com/ahphub/ahphub/templ/part"
)

// sendLabel returns the label of the button that sends comments to the agent; the script repeats it after a patch.
func (v *Changes) sendLabel() string {
	n := len(v.Drafts) + v.Unsent
	what := strconv.Itoa(n) + " open comments"
	if n == 1 {
		what = "1 open comment"
	}
	switch {
	case n == 0:
		return "Send comments to agent"
	case v.Running:
		return "Queue " + what + " for agent"
	}
	return "Send " + what + " to agent"
}

// finishNote returns a note about the drafts.
func (v *Changes) finishNote() string {
	switch n := len(v.Drafts); n {
	case 0:
		return ""
	case 1:
		return "Your draft will be published too."
	default:
		return "Your " + strconv.Itoa(n) + " drafts will be published too."
	}
}

// mineAsYou returns this person's verdict, worded for them.
func (v *Changes) mineAsYou() part.Verdict {
	m := *v.Mine
	m.By = "You"
	return m
}
