// Package gateway answers visitors on a node of a cluster.
//
// Every node accepts every request. While its node leads, a Gateway lets the node's own hub answer. Otherwise it
// passes requests on to the leader, and serves what needs no hub: assets, and the frames of live streams that the
// leader admitted. A request that arrives while no node leads waits for a moment.
package gateway
