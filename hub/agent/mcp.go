package agent

import "log/slog"

// MCPServer is a Model Context Protocol server of the host's own that an agent may use for a session: the review's
// comments, and the tools that connected clients offer.
type MCPServer struct {
	Name string
	// URL is reached by HTTP (streamable) with Headers; the address is on this machine.
	URL     string
	Headers map[string]string
	// Command and Env start the same server over standard input and output, for agents that know no HTTP.
	Command []string
	Env     []string // KEY=value
}

// ToolUser is a Backend that can be given MCP servers: a session's are started for it.
type ToolUser interface{ UsesTools() bool }

// LogValue keeps the token out of logs.
func (s MCPServer) LogValue() slog.Value { return slog.StringValue(s.Name) }
