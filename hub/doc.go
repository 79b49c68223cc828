// Package hub is the timeline: the one place where the state of every channel
// is held, where each change gets its number, and from where it goes to every
// connection that follows the channel.
//
// One mutex covers reduce, number and queue, so that serverSeq is one order for
// the whole host and a connection's frames leave in that order. The package
// does no I/O and starts no goroutine: the journal (hub/store) and the writers
// (handlers/rpc, handlers/pages) come here to fetch their work and block
// outside the lock.
//
// The way of an action:
//
//	Dispatch or Do → reduce → number → window → journal queue → connection queues
//	Unjournaled → (disk) → Durable → Conn.Next and Effects let go of it
//
// States are immutable: a snapshot is a pointer copy.
package hub
