// Package mcp is the host's own Model Context Protocol server, for the agents it runs: the review's
// comments as tools, and the tools of connected clients.
//
// There is one endpoint. A bearer token identifies the agent: each open agent has one, with a
// server of its own behind it (session.go), so one session's agent cannot address another session.
// comments.go and clients.go define the tools; bridge.go serves agents that start servers as
// programs instead of connecting by HTTP.
package mcp
