package page

import (
	"strconv"

	"github.com/ahphub/ahphub/templ/part"
)

// sendLabel is what the button that hands comments to the agent says; the script says the same after a patch.
func (v *Changes) sendLabel() string {
	n := len(v.Drafts) + v.Unsent
	what := strconv.Itoa(n) + " comments"
	if n == 1 {
		what = "1 comment"
	}
	switch {
	case n == 0:
		return "Send comments to the agent"
	case v.Running:
		return "Queue next: " + what
	}
	return "Send " + what + " to the agent"
}

// finishNote says what happens to the drafts.
func (v *Changes) finishNote() string {
	switch n := len(v.Drafts); n {
	case 0:
		return ""
	case 1:
		return "Your draft is published with it."
	default:
		return "Your " + strconv.Itoa(n) + " drafts are published with it."
	}
}

// mineAsYou is this person's verdict in words for them.
func (v *Changes) mineAsYou() part.Verdict {
	m := *v.Mine
	m.By = "You"
	return m
}
