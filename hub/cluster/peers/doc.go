// Package peers connects the nodes of a cluster, and knows which nodes belong to it.
//
// A cluster has a certificate authority of its own. A node proves with its certificate which cluster it belongs to, its name,
// and its incarnation: a node that is removed and joins again has another one. The list of members, which the log
// replicates, decides: a certificate that no member has opens nothing, however long it is valid.
//
// A node listens on one TCP port. TLS 1.3 says by its application protocol what a connection is for: raft and requests
// between nodes need a member's certificate; a node that joins has none yet and shows a token.
//
// An Authority signs certificates. Only the leader has one, because it writes tokens and members by the log.
package peers
