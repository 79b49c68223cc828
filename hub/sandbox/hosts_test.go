package sandbox

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseHostsRefusesWhatNamesNoHost(t *testing.T) {
	for _, text := range []string{"", "*", "*.", ".", "a..b", "https://example.com", "example.com/path", "example.com:",
		"example.com:0", "example.com:65536", "example.com:*", "exa mple.com", "ex\u00e4mple.com", "*.*.example.com",
		"a.*.com", "user@example.com", "127.1", "0x7f.1", "1.2.3.4.5", "*.1.2.3.4", "[::1", "[example.com]:1",
		"127.0.0.1", "127.0.0.1:11434", "[::1]:443", "::1", "::ffff:127.0.0.1", "169.254.169.254", "fd00:ec2::254",
		"0.0.0.0", "224.0.0.1", "10.0.0.0/33", "0.0.0.0/0", "127.0.0.0/8", "::/0", "169.254.0.0/16", "64:ff9b::7f00:1",
		"2002:7f00:1::", "fe80::1%eth0", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 130) + "com"} {
		if h, err := ParseHosts([]string{text}); err == nil {
			t.Errorf("%q is accepted as %+v", text, h)
		}
	}
}

func TestHostsAllowWhatTheyName(t *testing.T) {
	h, err := ParseHosts([]string{"Example.com.", "*.suffix.example", "ssh.example:22", "10.1.2.3:8080", "2001:db8::1",
		"192.168.0.0/24", "xn--fsq.example"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"example.com:443": true, "EXAMPLE.com.:80": true, "example.com:22": false, "a.example.com:443": false,
		"a.suffix.example:443": true, "b.a.suffix.example:80": true, "suffix.example:443": false,
		"asuffix.example:443": false, "a.suffix.example:8080": false, "ssh.example:22": true, "ssh.example:443": false,
		"10.1.2.3:8080": true, "10.1.2.3:80": false, "[::ffff:10.1.2.3]:8080": true, "[2001:db8::1]:443": true,
		"[2001:DB8:0:0::1]:443": true, "192.168.0.1:443": false, "xn--fsq.example:443": true,
	} {
		d, err := ParseDestination(text, 0)
		if err != nil || h.Allows(d) != want {
			t.Errorf("%s: allowed %t, %v; want %t", text, h.Allows(d), err, want)
		}
	}
	for text, want := range map[string]bool{"192.168.0.1:443": true, "192.168.1.1:443": false, "10.1.2.3:8080": true,
		"10.1.2.3:443": false, "[::ffff:192.168.0.1]:1": true, "127.0.0.1:80": false} {
		if got := h.AllowsAddress(netip.MustParseAddrPort(text)); got != want {
			t.Errorf("the address %s: allowed %t, want %t", text, got, want)
		}
	}
}

func TestKnownHostsAreHosts(t *testing.T) {
	if _, err := ParseHosts(Registries); err != nil {
		t.Error(err)
	}
}

func TestListNetworkLeadsProgramsToProxy(t *testing.T) {
	r := Rules{Network: Open, Relays: []Relay{{firstProxyPort, "127.0.0.1:38137"}}, Allow: []string{"npm.example"}}
	p := Policy{Session: "s1"}
	if err := r.Connect(&p, "list", []string{"model.example"}); err != nil {
		t.Fatal(err)
	}
	if err := p.Check(); err != nil || p.Network != List || len(r.Relays) != 1 {
		t.Errorf("%+v: %v", p, err)
	}
	env := strings.Join(p.Environment([]string{"https_proxy=http://corporate:1", "A=b", "NO_PROXY=*"}), " ")
	if !strings.HasPrefix(env, "A=b ") || strings.Contains(env, "corporate") || strings.Contains(env, "NO_PROXY=*") ||
		strings.Count(env, "=http://127.0.0.1:38138") != len(proxied) {
		t.Errorf("programs see %s", env)
	}
	h, _ := ParseHosts(p.Allow)
	for _, host := range []string{"npm.example", "model.example", "proxy.golang.org"} {
		if !h.Allows(Destination{host, 443}) {
			t.Error(host, " is not allowed")
		}
	}
	if err := r.Connect(&p, "", nil); err != nil || p.Network != Open || len(p.Relays) != 1 {
		t.Errorf("the network of all sessions: %+v, %v", p, err)
	}
	if err := r.Connect(&p, "wide", nil); err == nil {
		t.Error("a network that there is not is accepted")
	}
}

func FuzzHostsAllowNothingElse(f *testing.F) {
	for _, s := range []string{"example.com:443", "[::1]:80", "EXAMPLE.com.:80", "1.2.3.4:443", "a.b.example.org:443",
		"0x7f.1:80"} {
		f.Add(s)
	}
	h, err := ParseHosts([]string{"example.com", "*.example.org", "8.8.8.8"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if list, err := ParseHosts([]string{text}); err == nil &&
			list.AllowsAddress(netip.MustParseAddrPort("127.0.0.1:80")) {
			t.Errorf("%q opens loopback", text)
		}
		d, err := ParseDestination(text, 0)
		if err != nil {
			return
		}
		again, err := ParseDestination(d.String(), 0)
		if err != nil || again != d {
			t.Errorf("%q is %s, which is %s: %v", text, d, again, err)
		}
		if rules, err := ParseHosts([]string{d.Rule()}); err == nil && !rules.Allows(d) {
			t.Errorf("%q is not allowed by its own rule %s", text, d.Rule())
		}
		if h.Allows(d) && d.Host != "example.com" && d.Host != "8.8.8.8" && !strings.HasSuffix(d.Host, ".example.org") {
			t.Errorf("%q is allowed", text)
		}
	})
}
