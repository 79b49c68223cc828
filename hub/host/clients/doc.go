// Package clients is the part of the host for active clients: which clients offer tools in which
// sessions, the principal of each, and how long a disconnected one stays listed.
package clients
