// Package terminals is the part of the host that keeps terminals: their channels, who holds and who asks for one, their
// programs, commands that go on in the background, and what is left of a terminal after a restart. Programs run on a
// machine.Terminals; the part knows no process.
package terminals
