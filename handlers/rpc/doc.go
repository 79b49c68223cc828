// Package rpc is the Agent Host Protocol endpoint: one WebSocket with JSON-RPC 2.0 in text frames
// (AHP requirement 207).
//
// A socket has a reader, which runs requests in order of arrival, and a writer, which takes frames
// from the hub's queue; the HTTP handler owns both and waits for them. Answers go through the hub's
// queue, so that a client reads them in the order of the timeline.
//
// method.go has the whole protocol on one screen, version.go the supported versions, and errors.go
// the one table of errors.
package rpc
