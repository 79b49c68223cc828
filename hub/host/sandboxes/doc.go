// Package sandboxes is the part of the host that knows what the programs of each session are kept from: the settings of a
// session, the policy that they make, and what pages and clients are told of it. How programs are kept is hub/sandbox's.
package sandboxes
