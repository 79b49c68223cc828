// Package audit keeps what people and clients did: who, what, on what, from where.
//
// The entry of an action is derived inside the step that applies the action, so both are durable or neither is. A call
// or a form, whose effects may lie outside of the timeline, records its intent before anything happens and its outcome
// when it has ended. An intent without an outcome is of a program that was stopped in between: its outcome is unknown.
//
// Entries are records of the timeline; the store chains them by hashes.
package audit
