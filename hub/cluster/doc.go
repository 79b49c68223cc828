// Package cluster replicates the journal over several nodes.
//
// A Log is a sequence of batches that is durable on a quorum of nodes before it counts. One node leads at a time: it appends,
// and every node applies what was appended, in order, to a State of its own. A Raft is a Log by hashicorp/raft;
// clustertest has what any further Log must hold.
//
// An entry says its position, the term of the leader that appended it, the version of what is in it, and the hash of the
// entry before. A node applies nothing that does not continue what it has: it stops, so that states never differ.
package cluster
