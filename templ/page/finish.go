package page

import (
	"strconv"

	"github.com/ahphub/ahphub/templ/part"
)

// sendNote describes what is sent to the agent; the script updates it after a patch.
func (v *Changes) sendNote() string {
	switch n := len(v.Drafts) + v.Unsent; n {
	case 0:
		return "no open comments"
	case 1:
		return "1 open comment"
	default:
		return strconv.Itoa(n) + " open comments"
	}
}

// draftCount returns the number on the button that submits a review.
func draftCount(n int) string {
	if n == 0 {
		return ""
	}
	return "(" + strconv.Itoa(n) + ")"
}

// finishNote returns a note about the drafts.
func (v *Changes) finishNote() string {
	switch n := len(v.Drafts); n {
	case 0:
		return ""
	case 1:
		return "Publishes 1 pending comment."
	default:
		return "Publishes " + strconv.Itoa(n) + " pending comments."
	}
}

// mineAsYou returns this person's verdict, worded for them.
func (v *Changes) mineAsYou() part.Verdict {
	m := *v.Mine
	m.By = "You"
	return m
}
