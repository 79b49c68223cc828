// Package manage changes which nodes belong to a cluster, and reports the cluster's state.
//
// Every node accepts calls: from `ahphub cluster` through a socket in its data directory, and from
// the other nodes. It passes calls that only the leader can handle on to the leader, once.
package manage
