// Package customs is the part of the host for sessions' customizations (rules, skills, prompts,
// hooks, plugins) and MCP servers: it publishes them as the session's tree, records which are
// enabled and trusted, and starts and stops servers. hub/machine finds them on disk.
package customs
