// Package remote reaches a machine at the other end of a connection.
//
// The hub has a Machine, which implements machine.Machine; the computer has a Server, which serves a machine such as
// hub/machine/local's. Both outlive their connections. A query is a call, and fails while the computer is offline.
// Agents, terminals and MCP servers hold conversations over a pipe.Conduit: messages sent while it is offline arrive
// with the next connection, once.
package remote
