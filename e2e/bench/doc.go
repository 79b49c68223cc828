// Package bench measures the real program from outside: fan-out to many
// WebSockets whose clients live in another process, the way of an agent's delta
// to a client, resuming, snapshots under load, memory and start-up. Run it with
// make bench; figures and method stand in docs/performance.md.
//
// A benchmark fails when a message was lost, never because it was slow.
package bench
