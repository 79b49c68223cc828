// Package manage changes who belongs to a cluster, and says how it is.
//
// Every node takes calls: from `ahphub cluster` by a socket in its data directory, and from the other nodes. What only the
// leader can do is passed on to it, once.
package manage
