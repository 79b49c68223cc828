// Package store keeps the state that outlives the process in one SQLite database: the journal of
// the timeline with its snapshots, and the documents of other packages.
//
// The hub assigns numbers and orders writes. The store writes them in that order: Encode turns a
// batch of the journal into bytes, and a transaction applies them with their position. One
// goroutine encodes and one writes. Everything that waits during a transaction shares the next one
// (group commit), and nothing is reported as written before the commit with synchronous=FULL
// returns. No other call changes the database.
//
// Envelopes are appended to a channel's rows. Once those after its snapshot are larger than both
// the replay window and the snapshot, a new snapshot is written, and rows before the window are
// deleted. So a channel takes about twice the size of its state and its window, and startup reads
// only the catalogue.
package store
