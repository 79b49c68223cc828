// Package audit records what people and clients do: who, what, on what, from where.
//
// The entry of an action is derived in the step that applies the action, so both are durable or
// neither is. A call or a form, which may have effects outside of the timeline, records its intent
// first and its outcome at the end. If the program stops in between, the outcome is unknown.
//
// Entries are records of the timeline; the store chains them by hashes.
package audit
