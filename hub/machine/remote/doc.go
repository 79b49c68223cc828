// Package remote is a machine at the other end of a connection.
//
// The hub has a Machine, which implements machine.Machine; the computer has a Server, which serves one, as of
// hub/machine/local. Both outlive their connections. What only asks is a call, and fails while there is none. Agents,
// terminals and MCP servers are conversations over a pipe.Conduit: what is said while there is no connection arrives
// with the next one, once.
package remote
