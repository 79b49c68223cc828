// Package mcp is the host's own Model Context Protocol server, for the agents it runs: the
// review's comments as tools, and the tools that connected clients offer.
//
// There is one endpoint. A bearer token says whose it is: each agent that is open has one,
// with a server of its own behind it (session.go), so nothing of one session can be named in
// another. comments.go and clients.go are the tools; bridge.go carries the same to agents
// that start servers as programs instead of reaching them by HTTP.
package mcp
