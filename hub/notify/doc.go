// Package notify tells people what waits for them while they look elsewhere: in open pages of their browsers, by
// webhooks, and by e-mail.
//
// What is told is derived in one place from the timeline (observe.go) and written in the same step as its cause, so that
// it is told after a crash too. From there it becomes jobs (fanout.go), which are delivered at least once (queue.go): a
// webhook's receiver knows a repeated one by its id, a mailbox by its Message-ID.
package notify
