// Package pipe carries calls and streams between a hub and a machine over one connection.
//
// A Peer is one connection: yamux multiplexes it with flow control, so that a slow stream slows only itself, and drpc
// frames the messages of each stream. A Conduit is a bidirectional stream of messages that outlives its connection. It
// numbers messages, and sends unacknowledged ones again over the next connection, so each arrives once. A Talk makes
// calls over a Conduit. Messages are CBOR, because file names need not be UTF-8.
package pipe
