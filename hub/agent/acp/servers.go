package acp

import (
	"maps"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
)

// servers converts the host's own servers for the program.
func servers(list []agent.MCPServer, http bool) []mcpServer {
	out := make([]mcpServer, 0, len(list))
	for _, m := range list {
		switch {
		case http && m.URL != "":
			headers := []pair{}
			for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
				headers = append(headers, pair{name, m.Headers[name]})
			}
			out = append(out, mcpServer{Type: "http", Name: m.Name, URL: m.URL, Headers: &headers})
		case len(m.Command) > 0:
			args, env := append([]string{}, m.Command[1:]...), []pair{}
			for _, kv := range m.Env {
				name, value, _ := strings.Cut(kv, "=")
				env = append(env, pair{name, value})
			}
			out = append(out, mcpServer{Name: m.Name, Command: m.Command[0], Args: &args, Env: &env})
		}
	}
	return out
}
