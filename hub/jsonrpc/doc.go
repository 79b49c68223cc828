// Package jsonrpc implements JSON-RPC 2.0: a strict codec for one message a frame, and one end of a
// connection that sends and receives calls. It is independent of methods and transport.
package jsonrpc
