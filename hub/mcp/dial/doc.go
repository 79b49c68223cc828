// Package dial starts MCP servers on this computer, or connects to them, as a client of the Model Context Protocol.
package dial
