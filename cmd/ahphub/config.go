package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/hub/people"
)

// Config configures serving. The zero value of a field is its default, except for Listen and Data.
type Config struct {
	Listen       string   `default:"127.0.0.1:8137" placeholder:"HOST:PORT" help:"Address to listen on; port 0 takes a free one. Default: ${default}."`
	Data         string   `default:"${data}" placeholder:"DIR" help:"Data directory, created if missing. Default: ${default}."`
	Dir          string   `placeholder:"DIR" help:"Default directory of new sessions. Default: where ahphub was started."`
	Agent        string   `default:"shell" placeholder:"NAME" help:"Agent of new sessions: shell (the default), script (for tests and demos), or one that doctor lists."`
	Scenario     string   `placeholder:"FILE" help:"Scenario for the script agent. Without one it follows one-line commands."`
	PublicURL    string   `name:"public-url" placeholder:"URL" help:"Address teammates use, as https://hub.example.com: for links, allowed host names and Secure cookies."`
	AllowHost    []string `placeholder:"NAME" help:"Additional host names to accept."`
	TrustProxy   []string `placeholder:"CIDR" help:"Reverse proxies whose X-Forwarded-For, -Proto and -Host headers are trusted, as in 127.0.0.1/32."`
	TrustFilters []string `placeholder:"DIR" help:"Directories whose repositories' filters (Git LFS, clean and smudge) may run to show changes."`
	TrustHooks   []string `placeholder:"DIR" help:"Directories in whose repositories Git runs outside of sandboxes when people commit or merge: with their hooks and filters, and with your keys."`
	TokenFile    string   `placeholder:"FILE" help:"File with the owner's token for AHP clients, instead of AHPHUB_TOKEN or the generated one in the data directory."`
	OwnerName    string   `placeholder:"NAME" help:"Name that others see. Default: your user name."`
	LogFormat    string   `default:"text" placeholder:"text|json" help:"Format of the log on standard error. Default: ${default}."`
	LogLevel     string   `default:"info" placeholder:"debug|info|warn|error" help:"Lowest level to log. Default: ${default}."`
	ConfigFile   string   `name:"config" placeholder:"FILE" help:"Configuration file in TOML, keys named like these flags. Default: ahphub/config.toml in your configuration directory."`

	TLS  tlsConfig  `embed:""`
	OIDC oidcConfig `embed:"" prefix:"oidc-"`

	Notify notifyConfig `embed:""`

	Sandbox sandboxConfig `embed:""`

	Secrets secretsConfig `embed:""`

	Cluster clusterConfig `embed:""`

	configured []acp.Program // the [[agent]] tables of the configuration file
	pass       []string      // variables named by env in its [agents]
	limits     acp.Limits    // its [limits]

	demo         bool // the script agent plays the demo, and its sessions are created
	demoMachines int  // of `ahphub demo`
}

// secretFiles returns the files with keys, tokens and passwords that may be outside of the data
// directory.
func (c Config) secretFiles() []string {
	return []string{c.TokenFile, c.TLS.TLSKey, c.OIDC.ClientSecretFile, c.Notify.SMTPPasswordFile, c.Secrets.path()}
}

// settings are the parsed parts of a Config.
type settings struct {
	public  *url.URL
	proxies []netip.Prefix
	dir     string
	secured *secured       // nil: http
	rules   []people.Rule  // of the OpenID Connect provider
	mailer  notify.Mailer  // nil: no mail is sent
	allow   []netip.Prefix // private networks that webhooks may reach
}

// check parses every value. The error lists each wrong one with its value and what is allowed.
func (c Config) check() (settings, error) {
	var s settings
	var wrong []error
	bad := func(name string, value any, allowed string) {
		wrong = append(wrong, wrongOption(name, value, allowed))
	}
	if !isAddress(c.Listen) {
		bad("listen", c.Listen, "use host:port with a port from 0 to 65535, as in 127.0.0.1:8137")
	}
	if c.Data == "" {
		bad("data", c.Data, "name a directory")
	}
	if names := agentNames(c.configured); !slices.Contains(names, c.Agent) {
		bad("agent", c.Agent, "use shell or script, or an agent that is installed or configured: here are "+
			strings.Join(names, ", "))
	}
	if c.Scenario != "" && c.Agent != "script" {
		bad("scenario", c.Scenario, "only the script agent plays a scenario; add --agent script")
	} else if _, err := os.Stat(c.Scenario); c.Scenario != "" && err != nil {
		bad("scenario", c.Scenario, "name a file that can be read ("+err.Error()+")")
	}
	var err error
	if s.public, err = publicURL(c.PublicURL); err != nil {
		bad("public-url", c.PublicURL, err.Error())
	}
	for _, name := range c.AllowHost {
		if name == "" || strings.ContainsAny(name, "/: ") {
			bad("allow-host", name, "use a name without scheme and port, as in hub.example.com")
		}
	}
	for _, p := range c.TrustProxy {
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			bad("trust-proxy", p, "use a range of addresses, as in 127.0.0.1/32")
		}
		s.proxies = append(s.proxies, prefix)
	}
	for _, dir := range c.TrustFilters {
		if !filepath.IsAbs(dir) {
			bad("trust-filters", dir, "name a directory from the root on, as in /home/ana/src")
		}
	}
	for _, dir := range c.TrustHooks {
		if !filepath.IsAbs(dir) {
			bad("trust-hooks", dir, "name a directory from the root on, as in /home/ana/src")
		}
	}
	if !slices.Contains([]string{"text", "json"}, c.LogFormat) {
		bad("log-format", c.LogFormat, "use text or json")
	}
	if _, ok := logLevels[c.LogLevel]; !ok {
		bad("log-level", c.LogLevel, "use debug, info, warn or error")
	}
	c.TLS.check(bad)
	if c.TLS.on() && s.public != nil && s.public.Scheme != "https" {
		bad("public-url", c.PublicURL, "use https://. This server only speaks TLS")
	}
	s.rules = c.OIDC.check(bad)
	s.allow, s.mailer = c.Notify.check(bad)
	c.Sandbox.check(bad)
	c.Secrets.check(bad)
	c.Cluster.check(bad)
	if s.dir, err = directory(c.Dir); err != nil {
		bad("dir", c.Dir, err.Error())
	}
	return s, errors.Join(wrong...)
}

// wrongOption returns the error for an option's value.
func wrongOption(name string, value any, allowed string) error {
	env := "AHPHUB_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	return fmt.Errorf("--%s (%s) is %q: %s", name, env, fmt.Sprint(value), allowed)
}

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 0 && n <= 65535
}

func publicURL(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return nil, errors.New("use http:// or https:// with a host and no path, as in https://hub.example.com")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

func directory(s string) (string, error) {
	if s == "" {
		return os.Getwd()
	}
	abs, err := filepath.Abs(s)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", errors.New("use an existing directory")
	}
	return abs, nil
}

// defaultDataDir returns the data directory according to the XDG base directories.
func defaultDataDir() string {
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "ahphub")
}

func ownerName(given string) string {
	if given != "" {
		return given
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
