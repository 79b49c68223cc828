// Package store keeps what must outlive the process in one SQLite database: the
// journal of the timeline with its snapshots, and the documents of packages
// with state of their own.
//
// It assigns no number and orders nothing: the hub does, and the store writes
// what it is handed, in that order: Encode turns a batch of the journal into bytes,
// and a transaction applies them with their position. One goroutine encodes and one
// writes; everything that waits while a transaction reaches the disk shares the next
// one (group commit), and nothing is reported as written before synchronous=FULL says
// so. No other call changes the database.
//
// The life of a channel's rows: envelopes are appended; once those after its
// snapshot weigh more than the replay window and more than the snapshot itself,
// a new snapshot closes the run, and rows past the window go. So a channel costs
// about twice its state and its window, and start-up reads the catalogue alone.
package store
