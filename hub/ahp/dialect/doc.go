// Package dialect converts messages of older versions of the protocol, from 0.4.0 on. The program
// has one model, that of package ahp; an adapter between each two adjacent versions rewrites
// messages from an older client (up) and to it (down). It works on decoded JSON, knows no
// connection, and keeps no state.
//
// From 0.9 on the wire format is that of 1.0 without later additions: those versions filter actions
// and commands, ignore later fields of what clients send, and rewrite nothing.
package dialect
