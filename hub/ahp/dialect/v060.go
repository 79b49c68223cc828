package dialect

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

// to060 converts between 0.5.2 and 0.6.0: input requests moved into the turn, and turns got a start
// and a duration.
var to060 = &step{old: Version{0, 5, 2}, new: Version{0, 6, 0},
	down: map[string]edit{
		"session":                      signInsDown,
		"chat":                         inputRequestsDown,
		"chat/responsePart":            inputPartDown,
		"turn":                         abandonedDown,
		"toolCall":                     authRequiredDown,
		"session/inputNeededSet":       signInNeededDown,
		"changeset/filesReviewChanged": reviewDown,
	},
	up: map[string]edit{
		"chat":                           inputRequestsUp,
		"chat/turnStarted":               startedUp,
		"chat/turnComplete":              durationUp,
		"chat/turnCancelled":             durationUp,
		"chat/error":                     durationUp,
		"changeset/filesReviewedChanged": reviewUp,
	},
	lost: []Loss{
		{"open input request of a turn", "an entry of `ChatState.inputRequests`"},
		{"unanswered input request of a turn that has ended", "left out"},
		{"start and duration of a turn", "left out; for a client's turn, ahphub's clock sets them"},
		{"tool call that waits for a sign-in", "a running call without an `inputNeeded` entry; its next entry comes last"},
		{"risk of a tool call", "left out"},
		{"another approval request for a waiting call",
			"unchanged until the next snapshot, because old reducers change only running calls"},
		{"answered input request", "at the end of the turn until the next snapshot, which has it in its original place"},
		{"`changeset/filesReviewChanged {files}`", "`changeset/filesReviewedChanged {fileIds}`"},
	},
}

// inputRequestsDown moves open requests from the turn to the chat.
func inputRequestsDown(_ *Context, o object) bool {
	turn := child(o, "activeTurn")
	var open []any
	kept := []any{}
	for _, p := range list(turn, "responseParts") {
		if part, _ := p.(object); part["kind"] == "inputRequest" && part["response"] == nil {
			open = append(open, part["request"])
		} else {
			kept = append(kept, p)
		}
	}
	if len(open) > 0 {
		turn["responseParts"], o["inputRequests"] = kept, open
	} else if turn != nil && !waits(turn) { // at most for a sign-in, whose call runs here
		turnActivity(o, ahp.SessionStatusInputNeeded, ahp.SessionStatusInProgress)
	}
	return true
}

// waits reports whether a call of the turn waits for an approval.
func waits(turn object) bool {
	for _, p := range list(turn, "responseParts") {
		part, _ := p.(object)
		switch text(child(part, "toolCall"), "status") {
		case "pending-confirmation", "pending-result-confirmation":
			return true
		}
	}
	return false
}

// abandonedDown removes unanswered requests from a turn that has ended, where these versions list only answered ones.
func abandonedDown(_ *Context, o object) bool {
	if o["state"] == nil {
		return true
	}
	kept := []any{}
	for _, p := range list(o, "responseParts") {
		if part, _ := p.(object); part["kind"] != "inputRequest" || part["response"] != nil {
			kept = append(kept, p)
		}
	}
	o["responseParts"] = kept
	return true
}

// inputRequestsUp moves requests to the end of the running turn; without one there are none.
func inputRequestsUp(_ *Context, o object) bool {
	if turn := child(o, "activeTurn"); turn != nil {
		orEmpty(turn, "startedAt")
		for _, r := range list(o, "inputRequests") {
			turn["responseParts"] = append(list(turn, "responseParts"), object{"kind": "inputRequest", "request": r})
		}
	}
	delete(o, "inputRequests")
	return true
}

// signInsDown removes the entries for sign-ins, and the activity InputNeeded if no entry is left.
func signInsDown(_ *Context, o object) bool {
	entries, ok := o["inputNeeded"].([]any)
	if !ok {
		return true
	}
	kept := []any{}
	for _, e := range entries {
		if request, _ := e.(object); request["kind"] != "toolAuthentication" {
			kept = append(kept, e)
		}
	}
	if o["inputNeeded"] = kept; len(kept) == 0 {
		delete(o, "inputNeeded")
		turnActivity(o, ahp.SessionStatusInputNeeded, ahp.SessionStatusInProgress)
	}
	return true
}

// signInNeededDown removes the entry that a sign-in replaces, if there is one.
func signInNeededDown(_ *Context, o object) bool {
	if request := child(o, "request"); request["kind"] == "toolAuthentication" {
		o["type"], o["id"] = "session/inputNeededRemoved", request["id"]
		delete(o, "request")
	}
	return true
}

func inputPartDown(_ *Context, o object) bool {
	if part := child(o, "part"); part["kind"] == "inputRequest" && part["response"] == nil {
		o["type"], o["request"] = "chat/inputRequested", part["request"]
		delete(o, "part")
		delete(o, "turnId")
	}
	return true
}

func authRequiredDown(_ *Context, o object) bool {
	delete(o, "riskAssessment")
	if o["status"] == "auth-required" {
		o["status"] = "running"
		delete(o, "auth")
	}
	return true
}

func startedUp(c *Context, o object) bool {
	if o["startedAt"] == nil {
		o["startedAt"] = ahp.FormatTime(c.Now)
	}
	return true
}

// durationUp sets the duration to the time since the turn started.
func durationUp(c *Context, o object) bool {
	if o["duration"] != nil {
		return true
	}
	ms := int64(0)
	if chat, ok := c.State.(*ahp.ChatState); ok && chat.ActiveTurn != nil {
		if began, err := time.Parse(time.RFC3339Nano, chat.ActiveTurn.StartedAt); err == nil {
			ms = max(0, c.Now.Sub(began).Milliseconds())
		}
	}
	o["duration"] = json.Number(strconv.FormatInt(ms, 10))
	return true
}

func reviewDown(_ *Context, o object) bool {
	o["type"] = "changeset/filesReviewedChanged"
	rename(o, "files", "fileIds")
	return true
}

func reviewUp(_ *Context, o object) bool {
	o["type"] = "changeset/filesReviewChanged"
	rename(o, "fileIds", "files")
	return true
}
