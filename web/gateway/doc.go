// Package gateway answers visitors on a node of a cluster.
//
// Every node takes every request. While its node leads, a Gateway has the hub of that node answer.
// Otherwise it passes requests on to the leader, and serves by itself what needs no hub: assets, and
// the frames of live streams that the leader has admitted. A request that arrives while no node leads
// waits for a moment.
package gateway
