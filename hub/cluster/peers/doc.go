// Package peers connects the nodes of a cluster, and decides which nodes belong to it.
//
// A cluster has its own certificate authority. A node's certificate proves its cluster, its name
// and its incarnation: a node that is removed and joins again gets a new incarnation. The member
// list, which is in the replicated log, decides: the certificate of a non-member is refused even
// while it is valid.
//
// A node listens on one TCP port with TLS 1.3. The application protocol says what a connection is
// for: raft and requests between nodes need a member's certificate; a joining node has none yet and
// sends a token.
//
// An Authority signs certificates. Only the leader has one, because it writes tokens and members to
// the log.
package peers
