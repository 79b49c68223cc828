package notify

import "github.com/ahphub/ahphub/hub/access"

// Kind is the kind of an event.
type Kind string

// The kinds.
const (
	Approval Kind = "approval" // a tool call waits for approval
	Question Kind = "question" // the agent asks a question
	Finished Kind = "finished" // a turn ended without an error and no message is queued
	Failed   Kind = "failed"   // a turn ended in an error
	Comment  Kind = "comment"  // a new comment in a thread
	Mention  Kind = "mention"  // the comment mentions the recipient
	Verdict  Kind = "verdict"  // a reviewer approved the changes, requested others, or commented
	Machine  Kind = "machine"  // a machine is away from its running turns, a node is down, or either is back
	Test     Kind = "test"     // sent by the test button, never chosen
)

// Kinds returns the kinds a person chooses from, in the order of the page.
func Kinds() []Kind {
	return []Kind{Approval, Question, Failed, Finished, Mention, Comment, Verdict, Machine}
}

// Channel is a way to reach a person.
type Channel string

// The channels.
const (
	Browser Channel = "browser"
	Mail    Channel = "mail"
	Webhook Channel = "webhook"
)

// Channels returns all channels, in the order of the page.
func Channels() []Channel { return []Channel{Browser, Mail, Webhook} }

// urgent are the default kinds.
var urgent = []Kind{Approval, Question, Failed, Mention, Machine}

// defaults are the kinds of each channel until a person chooses others.
var defaults = map[Channel][]Kind{Browser: urgent, Mail: urgent, Webhook: Kinds()}

// needs maps a kind to the right it needs: people who cannot answer are not notified.
var needs = map[Kind]access.Right{Approval: access.RightApprove, Question: access.RightPrompt}

// said maps each kind to the start of its title.
var said = map[Kind]string{
	Approval: "Approval needed",
	Question: "Asks you something",
	Finished: "Finished",
	Failed:   "Failed",
	Comment:  "New comment",
	Mention:  "You were mentioned",
	Verdict:  "New review",
	Machine:  "Machine",
	Test:     "Test notification",
}
