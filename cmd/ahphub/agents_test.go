package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/machine/local"
)

// settle writes a configuration file and reads it as for serving.
func settle(t *testing.T, text string, args ...string) (Config, error) {
	t.Helper()
	isolate(t)
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var c cli
	_, err := parse(&c, append([]string{"serve", "--config", file}, args...), io.Discard)
	return c.Serve.Config, err
}

// onPath creates a PATH with only these executables.
func onPath(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return dir
}

func TestAgentsAreFoundAndConfigured(t *testing.T) {
	dir := onPath(t, "claude-code-acp", "gemini", "mine")
	c, err := settle(t, `
[[agent]]
name = "mine"
title = "My agent"
command = "mine"
args = ["--acp"]
env = { MODE = "fast" }
default = true

[[agent]]
name = "gemini"
pass = ["MY_KEY"]
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Agent != "mine" {
		t.Errorf("the default agent is %q", c.Agent)
	}
	if _, err := c.check(); err != nil {
		t.Error(err)
	}
	agents, err := makeAgents(c, nil, local.Programs{})
	if err != nil {
		t.Fatal(err)
	}
	for name, title := range map[string]string{"shell": "Shell", "claude": "Claude Code", "gemini": "Gemini CLI",
		"mine": "My agent"} {
		if agents[name] == nil {
			t.Errorf("there is no agent %s", name)
			continue
		}
		if info, err := agents[name].Describe(t.Context()); err != nil || info.DisplayName != title {
			t.Errorf("%s is shown as %q (%v)", name, info.DisplayName, err)
		}
	}
	if len(agents) != 4 {
		t.Errorf("there are %d agents", len(agents))
	}
	gemini := programs(c.configured, nil)["gemini"]
	if gemini.Command != filepath.Join(dir, "gemini") ||
		!strings.Contains(strings.Join(gemini.Pass, " "), "GOOGLE_* MY_KEY") || len(gemini.Args) != 1 {
		t.Errorf("what is known of gemini was lost: %+v", gemini)
	}
	if c, err := settle(t, "[[agent]]\nname = \"mine\"\ncommand = \"mine\"\ndefault = true", "--agent",
		"shell"); err != nil || c.Agent != "shell" {
		t.Errorf("a flag must win over the file: %q (%v)", c.Agent, err)
	}
}

func TestWrongAgentsAreNamed(t *testing.T) {
	for _, test := range []struct{ file, want string }{
		{`name = "x"`, "no command"},
		{`name = "X Y"` + "\ncommand = \"x\"", `"X Y"`},
		{`name = "shell"` + "\ncommand = \"x\"", "not shell"},
		{`name = "x"` + "\ncommand = \"x\"\ncmd = 1", `"cmd"`},
		{`name = "x"` + "\ncommand = \"x\"\npass = [\"A=b\"]", "pass"},
		{`name = 1`, "name"},
		{`name = "x"` + "\ncommand = \"x\"\nicon = \"a b\"", "icon"},
		{`name = "x"` + "\ncommand = \"x\"\ndirs = [\"relative\"]", "dirs"},
		{`name = "x"` + "\ncommand = \"x\"\n[limits]\nmemory = \"much\"", `"much"`},
		{`name = "x"` + "\ncommand = \"x\"\n[limits]\nmemroy = \"1G\"", `"memroy"`},
		{`name = "x"` + "\ncommand = \"x\"\n[limits]\nidle = \"1\"", "idle"},
		{`name = "x"` + "\ncommand = \"x\"\n[agents]\nenvironment = []", `"environment"`},
		{`name = "x"` + "\ncommand = \"x\"\n[agents]\nenv = [\"A=b\"]", `"A=b"`},
		{`name = "x"` + "\ncommand = \"x\"\n[agents]\nenv = [\"*\"]", `"*"`},
		{`name = "x"` + "\ncommand = \"x\"\n[agents]\nenv = [\"AHPHUB_TOKEN\"]", "to itself"},
	} {
		if _, err := settle(t, "[[agent]]\n"+test.file); err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), "config.toml") {
			t.Errorf("%s: %v", test.file, err)
		}
	}
}

func TestAgentsAreBounded(t *testing.T) {
	dir := t.TempDir()
	c, err := settle(t, "[[agent]]\nname = \"mine\"\ncommand = \"mine\"\nicon = \"M\"\nmodel = \"large\"\nauth = "+
		"\"key\"\ndirs = [\""+dir+"\"]\n"+
		"[limits]\nmemory = \"2GB\"\ncpus = 1.5\nprocesses = 200\nidle = \"5m\"\n[agents]\nenv = [\"MINE_*\"]")
	if err != nil {
		t.Fatal(err)
	}
	if l := c.limits; l.Memory != 2<<30 || l.CPUs != 1.5 || l.Processes != 200 || l.Idle != 5*time.Minute {
		t.Errorf("the limits are %+v", l)
	}
	if p := programs(c.configured, c.pass)["mine"]; !slices.Equal(p.Pass, []string{"MINE_*"}) || p.Icon != "M" ||
		p.Model != "large" || p.Auth != "key" || len(p.Dirs) != 1 || p.Dirs[0] != dir {
		t.Errorf("the agent is %+v", p)
	}
	for text, want := range map[string]int64{"": 0, "1": 1, "1k": 1 << 10, "3M": 3 << 20, "512 MB": 512 << 20} {
		if got, err := size(text); got != want || err != nil {
			t.Errorf("%q is %d (%v)", text, got, err)
		}
	}
	for _, text := range []string{"0", "-1", "K", "9999999G", "B"} {
		if got, err := size(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// A working agent is listed with its version, and one that needs a login with how to log in.
func TestDoctorStartsAgents(t *testing.T) {
	onPath(t)
	dir := os.Getenv("PATH")
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	script := func(name, second string) {
		body := "#!/bin/sh\nread a\necho " +
			"'{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1,\"agentInfo\":{\"name\":\"" + name +
			"\",\"version\":\"9.8\"}}}'\n" +
			"read b\necho '{\"jsonrpc\":\"2.0\",\"id\":2," + second + "}'\nread c\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script("goose", `"result":{"sessionId":"s"}`)
	script("auggie", `"error":{"code":-32000,"message":"Authentication required"}`)
	data := isolate(t)
	out, _, _ := do(t, "doctor", "--listen", "127.0.0.1:0", "--data", data)
	for _, want := range []string{"ok    agent goose: " + filepath.Join(dir, "goose") + " acp (goose 9.8)",
		"note  agent auggie: ", "(auggie 9.8)\n      Auggie needs a login (Authentication required). Run auggie " +
			"login on the server"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report misses %q:\n%s", want, out)
		}
	}
}

func TestDoctorListsAgents(t *testing.T) {
	dir := onPath(t, "goose")
	data := isolate(t)
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte("[[agent]]\nname = \"mine\"\ncommand = \"no-such-program\""),
		0o600); err != nil {
		t.Fatal(err)
	}
	out, _, _ := do(t, "doctor", "--config", file, "--listen", "127.0.0.1:0", "--data", data)
	for _, want := range []string{"note  agent goose: " + filepath.Join(dir, "goose") + " acp\n      Goose exited",
		"note  agent mine: ", "no-such-program", "configuration file"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report misses %q:\n%s", want, out)
		}
	}
}

func TestLoginCommandIsOneLine(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"mine login\nrm -r x", "mine\rlogin", "mine\x1b[A", strings.Repeat("x", 1001)} {
		if _, err := (agentEntry{Name: "mine", Command: "mine", LoginLine: bad}).program(); err == nil {
			t.Errorf("the login command %.20q is taken", bad)
		}
	}
	p, err := (agentEntry{Name: "mine", Command: "mine", LoginLine: "mine login"}).program()
	if err != nil || p.LoginCommand() != "mine login" {
		t.Errorf("the login command is %q, %v", p.LoginCommand(), err)
	}
	for _, name := range acp.Names() {
		known, ok := acp.Known(strings.TrimSuffix(strings.TrimSuffix(name, "-agent-acp"), "-acp"))
		if !ok || known.LoginCommand() == "" {
			t.Errorf("%s has no login command", name)
		}
	}
}
