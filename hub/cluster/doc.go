// Package cluster replicates the journal to several nodes.
//
// A Log is a sequence of batches. A batch counts once it is durable on a quorum of nodes. One node
// leads at a time and appends batches; every node applies them, in order, to its own State. Raft
// implements Log with hashicorp/raft; package clustertest checks any implementation.
//
// An entry holds its position, the term of the leader that appended it, the version of its batch
// and the hash of the previous entry. A node that receives an entry which does not continue its
// state stops, so states never diverge.
package cluster
