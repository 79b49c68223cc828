// Package hub is the timeline: it holds the state of every channel, numbers each change, and
// delivers it to every connection that follows the channel.
//
// One mutex covers reducing, numbering and queueing, so that serverSeq is one order for the whole
// host and each connection's frames are sent in that order. The package does no I/O and starts no
// goroutine: the journal (hub/store) and the writers (handlers/rpc, handlers/pages) fetch their
// work here and block outside the lock.
//
// The path of an action:
//
//	Dispatch or Do → reduce → number → window → journal queue → connection queues
//	Unjournaled → (disk) → Durable → Conn.Next and Effects let go of it
//
// States are immutable: a snapshot is a pointer copy.
package hub
