// Package dialect speaks the older versions of the protocol, from 0.4.0 on. The program knows one model, that of
// package ahp; an adapter between each two adjacent versions rewrites what comes in from an older client (up) and what
// goes out to it (down). It works on decoded JSON, knows no connection, and keeps no state.
//
// From 0.9 on the wire is that of 1.0 but for what came later: those versions filter actions and commands, ignore later
// fields of what clients send, and rewrite nothing.
package dialect
