// Package clients is the part of the host that knows the active clients: which clients offer tools in which
// sessions, of which principal each is, and how long a disconnected one stays listed.
package clients
