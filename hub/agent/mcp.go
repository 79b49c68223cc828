package agent

import "log/slog"

// MCPServer is a Model Context Protocol server of the host that an agent can use for a session: the
// review's comments, and the tools that connected clients offer.
type MCPServer struct {
	Name string
	// URL is reached by HTTP (streamable) with Headers; the address is on this machine.
	URL     string
	Headers map[string]string
	// Command and Env start the same server over standard input and output, for agents without
	// HTTP.
	Command []string
	Env     []string // KEY=value
}

// ToolUser is a Backend that accepts MCP servers for its sessions.
type ToolUser interface{ UsesTools() bool }

// LogValue keeps the token out of logs.
func (s MCPServer) LogValue() slog.Value { return slog.StringValue(s.Name) }
