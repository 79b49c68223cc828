package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// through returns where a request with these headers came from, according to the audit and the log.
func (x *site) through(headers ...string) (res *http.Response, from string) {
	x.t.Helper()
	before := len(x.log.String())
	res = x.ask("GET /healthz", headers...)
	_, line, _ := strings.Cut(x.log.String()[before:], "from=")
	from, _, _ = strings.Cut(line, " ")
	return res, strings.Trim(from, `"`)
}

// Forwarded headers count only from configured proxies.
func TestForwardedHeaders(t *testing.T) {
	for name, test := range map[string]struct {
		proxies string
		headers []string
		from    string
		hsts    bool // the request counts as https
		code    int
	}{
		"nobody is trusted": {"", []string{"X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https",
			"X-Forwarded-Host: evil.example"}, "127.0.0.1", false, 200},
		"somebody else is": {"10.0.0.0/8",
			[]string{"X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example"},
			"127.0.0.1", false, 200},
		"a proxy":          {"127.0.0.0/8", []string{"X-Forwarded-For: 203.0.113.9"}, "203.0.113.9", false, 200},
		"the proxy itself": {"127.0.0.0/8", nil, "127.0.0.1", false, 200},
		"a lie before the proxy": {"127.0.0.0/8", []string{"X-Forwarded-For: 198.51.100.1, 203.0.113.9"}, "203.0.113.9",
			false, 200},
		"a proxy before the proxy": {"127.0.0.0/8,10.0.0.0/8", []string{"X-Forwarded-For: 203.0.113.9, 10.1.2.3"},
			"203.0.113.9", false, 200},
		"several lines": {"127.0.0.0/8",
			[]string{"X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 203.0.113.9"}, "203.0.113.9", false, 200},
		"https before the proxy": {"127.0.0.0/8",
			[]string{"X-Forwarded-Proto: https", "X-Forwarded-Host: hub.example.com"}, "127.0.0.1", true, 200},
		"a lie about https": {"127.0.0.0/8",
			[]string{"X-Forwarded-Proto: https, http", "X-Forwarded-Host: hub.example.com"}, "127.0.0.1", false, 200},
		"http before the proxy": {"127.0.0.0/8",
			[]string{"X-Forwarded-Proto: http", "X-Forwarded-Host: hub.example.com"}, "127.0.0.1", false, 200},
		"a name that is not allowed": {"127.0.0.0/8", []string{"X-Forwarded-Host: evil.example"}, "127.0.0.1", false, 403},
		"the name of the last proxy": {"127.0.0.0/8", []string{"X-Forwarded-Host: evil.example, hub.example.com"}, "127.0.0.1",
			false, 200},
		"other headers of the kind": {"127.0.0.0/8",
			[]string{"Forwarded: for=203.0.113.9;proto=https", "X-Real-Ip: 203.0.113.9",
				"X-Original-Host: evil.example"}, "127.0.0.1", false, 200},
	} {
		x := newSite(t, func(c *Config) {
			c.AllowHosts = []string{"hub.example.com"}
			for _, p := range strings.Split(test.proxies, ",") {
				if p != "" {
					c.Proxies = append(c.Proxies, netip.MustParsePrefix(p))
				}
			}
		})
		res, from := x.through(test.headers...)
		if res.StatusCode != test.code || test.from != "" && from != test.from ||
			(res.Header.Get("Strict-Transport-Security") != "") != test.hsts {
			t.Errorf("%s: %s from %q, HSTS %q", name, res.Status, from, res.Header.Get("Strict-Transport-Security"))
		}
	}
}

// A host name that a proxy forwards is checked also when another node passes the request on: that node
// checked only the name that the proxy asked for.
func TestForwardedHostByNode(t *testing.T) {
	x := newSite(t, func(c *Config) {
		c.AllowHosts = []string{"hub.example.com"}
		c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	for host, want := range map[string]int{
		"":                     http.StatusOK,
		"10.0.0.2:8137":        http.StatusOK, // the node's own address, which this one does not know
		"hub.example.com":      http.StatusOK,
		"evil.example":         http.StatusForbidden,
		"evil.example:8137":    http.StatusForbidden,
		"10.0.0.2:8137, other": http.StatusForbidden,
	} {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		r.Host = "10.0.0.2:8137"
		if host != "" {
			r.Header.Set("X-Forwarded-Host", host)
		}
		w := httptest.NewRecorder()
		x.s.ServeHTTP(w, FromNode(r, "127.0.0.1:4242", false))
		if w.Code != want {
			t.Errorf("%q: %d", host, w.Code)
		}
	}
}

// Attempts are counted by the sender's own address: claiming another helps only behind a trusted
// proxy.
func TestGuessersCannotChangeTheirAddress(t *testing.T) {
	for name, test := range map[string]struct {
		proxies []netip.Prefix
		last    int
	}{"directly": {nil, 429}, "through a proxy, others": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, 403}} {
		x := newSite(t, func(c *Config) { c.Limits.Failures, c.Proxies = 3, test.proxies })
		for i, from := range []string{"203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"} {
			want := 403
			if i == 3 {
				want = test.last
			}
			if res := x.ask("POST /signin", "token=guess", "X-Forwarded-For: "+from); res.StatusCode != want {
				t.Errorf("%s, guess %d: %s", name, i, res.Status)
			}
		}
	}
}

// A cookie made over https behind a proxy is sent only over https.
func TestCookiesBehindProxy(t *testing.T) {
	for proto, secure := range map[string]bool{"https": true, "http": false} {
		x := newSite(t, func(c *Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
		token, _ := x.signIn.New()
		res := x.ask("POST /signin", "token="+token, "X-Forwarded-Proto: "+proto)
		if c := res.Cookies(); len(c) != 1 || c[0].Secure != secure {
			t.Errorf("%s: %v", proto, c)
		}
	}
}
