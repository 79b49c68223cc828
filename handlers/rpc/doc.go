// Package rpc is the Agent Host Protocol endpoint: one WebSocket, JSON-RPC 2.0
// in text frames (AHP requirement 207).
//
// A socket has a reader, which runs requests in the order they came, and a
// writer, which takes what the hub lets go of; the HTTP handler owns both and
// waits for them. Answers go through the hub's queue in their place, so that a
// client reads them in the order of the timeline.
//
// method.go is the whole protocol on one screen; version.go says which versions
// are spoken; errors.go is the one table of errors.
package rpc
