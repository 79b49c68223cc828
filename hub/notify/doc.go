// Package notify notifies people outside of a session's page: in other open pages of their
// browsers, by push message, by webhook, and by e-mail.
//
// Notices are derived from the timeline in one place (observe.go) and written in the same step as
// their cause, so that a crash loses none. From there they become jobs (fanout.go), which are
// delivered at least once (queue.go): a webhook's receiver recognizes a repeated one by its id, a
// mailbox by its Message-ID.
package notify
