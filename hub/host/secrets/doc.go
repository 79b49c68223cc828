// Package secrets is the part of the host that gives the programs of sessions their secrets, as variables or files, and
// knows what is hidden of a session. Where secrets are kept is hub/secret's, and hiding is hub/redact's.
package secrets
