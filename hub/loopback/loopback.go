// Package loopback reserves addresses of this computer for programs that start later.
package loopback

// Reserve returns an address of this computer, such as "127.0.0.1:40213", at which nothing listens.
// A program that gets the address may listen there, and again after a restart. Until release is
// called, the system gives the port to no connection and to no listener that requests any port.
//
// Only Linux can reserve a port. Elsewhere it is merely free at the time of the call.
func Reserve() (address string, release func(), err error) { return reserve() }
