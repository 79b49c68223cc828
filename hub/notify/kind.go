package notify

import "github.com/ahphub/ahphub/hub/access"

// Kind says what happened.
type Kind string

// The kinds.
const (
	Approval Kind = "approval" // a tool call waits for somebody's yes
	Question Kind = "question" // the agent asks
	Finished Kind = "finished" // a turn ended well, and nothing is queued behind it
	Failed   Kind = "failed"   // a turn ended in an error
	Comment  Kind = "comment"  // somebody wrote in a thread
	Mention  Kind = "mention"  // and named you
	Verdict  Kind = "verdict"  // somebody approved the changes, asked for others, or said what they think
	Test     Kind = "test"     // sent by the button, never chosen
)

// Kinds are those a person chooses from, in the order of the page.
func Kinds() []Kind { return []Kind{Approval, Question, Failed, Finished, Mention, Comment, Verdict} }

// Channel is a way to somebody.
type Channel string

// The channels.
const (
	Browser Channel = "browser"
	Mail    Channel = "mail"
	Webhook Channel = "webhook"
)

// Channels are all of them, in the order of the page.
func Channels() []Channel { return []Channel{Browser, Mail, Webhook} }

// urgent is what somebody wants to hear who chose nothing.
var urgent = []Kind{Approval, Question, Failed, Mention}

// defaults are the kinds of each channel until a person chooses others.
var defaults = map[Channel][]Kind{Browser: urgent, Mail: urgent, Webhook: Kinds()}

// needs is the right without which a kind is not told: who cannot answer is not called.
var needs = map[Kind]access.Right{Approval: access.RightApprove, Question: access.RightPrompt}

// said is how each kind begins in words.
var said = map[Kind]string{
	Approval: "Needs approval",
	Question: "Asks you something",
	Finished: "Finished",
	Failed:   "Failed",
	Comment:  "New comment",
	Mention:  "You are mentioned",
	Verdict:  "New verdict",
	Test:     "A test",
}
