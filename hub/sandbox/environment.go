package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// outside names variables that lead out of a box, or to what is not in it: agents that hold keys, buses, screens.
var outside = []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNUPGHOME", "DBUS_SESSION_BUS_ADDRESS",
	"DBUS_SYSTEM_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DOCKER_HOST",
	"KUBECONFIG", "TMPDIR"}

// proxied names variables by which programs find a proxy, and when they go without one.
var proxied = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// unproxied names the variables for what is reached without a proxy.
var unproxied = []string{"NO_PROXY", "no_proxy"}

// Environment returns what programs in the policy's box see of their environment. On the network List they are told of
// the proxy, whatever proxy the host uses.
func (p *Policy) Environment(env []string) []string {
	i := slices.IndexFunc(p.Relays, func(r Relay) bool { return r.To == ProxyService })
	env = slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(outside, name) || p.Network == List && (slices.Contains(proxied, name) ||
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
	return append(env, "NODE_USE_ENV_PROXY=1") // Node.js asks for the others only then
}
