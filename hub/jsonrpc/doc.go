// Package jsonrpc is JSON-RPC 2.0: a strict codec for one message a frame, and
// the side of a connection that can be asked and can ask. It knows nothing of
// what is said in it, nor of the transport.
package jsonrpc
