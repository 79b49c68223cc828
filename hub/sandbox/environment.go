package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// leakingVariables lists variables that lead out of a box, or to things that are not in it: key
// agents, buses, screens.
var leakingVariables = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNUPGHOME",
	"DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
	"XDG_RUNTIME_DIR", "DOCKER_HOST", "KUBECONFIG", "TMPDIR"}

// proxied lists the variables with which programs find a proxy.
var proxied = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// unproxied lists the variables for addresses that are reached without a proxy.
var unproxied = []string{"NO_PROXY", "no_proxy"}

// Environment returns the environment for programs in the policy's box. On the network List it names the hub's proxy,
// whatever proxy the host uses.
func (p *Policy) Environment(env []string) []string {
	i := slices.IndexFunc(p.Relays, func(r Relay) bool { return r.To == ProxyService })
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(leakingVariables, name) || p.Network == List && (slices.Contains(proxied, name) ||
			slices.Contains(unproxied, name))
	})
	if p.Network != List || i < 0 {
		return env
	}
	for _, name := range proxied {
		env = append(env, fmt.Sprintf("%s=http://127.0.0.1:%d", name, p.Relays[i].Port))
	}
	for _, name := range unproxied {
		env = append(env, name+"=localhost,127.0.0.1,::1")
	}
	return append(env, "NODE_USE_ENV_PROXY=1") // otherwise Node.js ignores the others
}
