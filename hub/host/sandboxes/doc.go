// Package sandboxes is the part of the host for sandboxes: a session's settings, the policy they
// produce, and how pages and clients describe it. Package hub/sandbox enforces policies.
package sandboxes
