// Package customs is the part of the host that keeps what sessions are customized with (rules, skills, prompts, hooks,
// plugins) and their MCP servers: it publishes them as the session's tree, records what is switched on and trusted, and
// starts and stops the servers. What is on disk it learns from hub/machine.
package customs
