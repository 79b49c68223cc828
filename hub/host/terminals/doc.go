// Package terminals is the part of the host for terminals: their channels, holders and requests for
// control, their programs, background commands, and what remains of a terminal after a restart. A
// machine.Terminals runs the programs.
package terminals
