// Package secrets is the part of the host that gives sessions' programs their secrets, as variables
// or files, and lists what to redact. Package hub/secret stores secrets, and hub/redact redacts
// them.
package secrets
