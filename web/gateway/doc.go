// Package gateway answers visitors on a node of a cluster.
//
// Every node takes every request. A Gateway has the hub of its own node answer while that node leads; otherwise it passes
// requests on to the leader, and serves by itself what needs no hub: assets, and the frames of live streams that the leader
// has let in. A request that arrives while no node leads waits for a moment.
package gateway
