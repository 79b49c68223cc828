package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/ahphub/ahphub/hub/agent/acp"
	"github.com/ahphub/ahphub/hub/agent/script"
	"github.com/ahphub/ahphub/hub/agent/shell"
)

// agentEntry is an [[agent]] of the configuration file: a program that speaks the Agent Client
// Protocol. An entry with the name of a known agent changes that agent, and inherits the fields it
// omits.
type agentEntry struct {
	Name        string            `toml:"name"`
	Title       string            `toml:"title"`
	Description string            `toml:"description"`
	Command     string            `toml:"command"`
	Args        []string          `toml:"args"`
	Env         map[string]string `toml:"env"`
	Pass        []string          `toml:"pass"`
	Login       string            `toml:"login"`
	LoginLine   string            `toml:"login_command"`
	Auth        string            `toml:"auth"`
	Icon        string            `toml:"icon"`
	Model       string            `toml:"model"`
	Dirs        []string          `toml:"dirs"`
	Default     bool              `toml:"default"`
}

const mostIcon = 8 // code points: an emoji may have several

var (
	agentName    = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\*?$`)
)

// readAgents reads the [[agent]] tables; def is the name of the default one.
func readAgents(path string) (list []acp.Program, def string, err error) {
	var file struct {
		Agent []agentEntry `toml:"agent"`
	}
	meta, err := toml.DecodeFile(path, &file)
	if err != nil {
		return nil, "", err
	}
	for _, key := range meta.Undecoded() {
		if len(key) > 1 && key[0] == "agent" && (len(key) == 2 || key[1] != "env") {
			return nil, "", fmt.Errorf(
				"an [[agent]] has the key %q: use name, command, args, env, pass, title, description, icon, model, "+
					"dirs, login, login_command, auth and default", key[1])
		}
	}
	for _, e := range file.Agent {
		p, err := e.program()
		if err != nil {
			return nil, "", err
		}
		if e.Default {
			def = p.Name
		}
		list = append(list, p)
	}
	return list, def, nil
}

// readPass reads the [agents] table: env names variables that every program of a session sees in
// addition to the usual ones.
func readPass(path string) ([]string, error) {
	var file struct {
		Agents struct {
			Env []string `toml:"env"`
		} `toml:"agents"`
	}
	meta, err := toml.DecodeFile(path, &file)
	if err != nil {
		return nil, err
	}
	for _, key := range meta.Undecoded() {
		if len(key) > 1 && key[0] == "agents" {
			return nil, fmt.Errorf("[agents] has the key %q: use env", key[1])
		}
	}
	for _, name := range file.Agents.Env {
		if !variableName.MatchString(name) {
			return nil, fmt.Errorf("[agents] env has %q: name a variable, as in MY_KEY or MY_*", name)
		}
		if strings.HasPrefix(name, "AHPHUB_") {
			return nil, fmt.Errorf("[agents] env has %q: ahphub keeps its own settings to itself", name)
		}
	}
	return file.Agents.Env, nil
}

func (e agentEntry) program() (acp.Program, error) {
	switch {
	case !agentName.MatchString(e.Name) || e.Name == shell.Provider || e.Name == script.Provider:
		return acp.Program{}, fmt.Errorf(
			"an [[agent]] has the name %q: use small letters, digits, dots and dashes, and not shell or script", e.Name)
	case strings.ContainsFunc(strings.Join(e.Pass, ""), func(r rune) bool { return r == '=' || r == ' ' }):
		return acp.Program{}, fmt.Errorf("the agent %s: pass takes names of variables, as in MY_KEY or MY_*", e.Name)
	case utf8.RuneCountInString(e.Icon) > mostIcon || strings.ContainsFunc(e.Icon, unicode.IsSpace):
		return acp.Program{}, fmt.Errorf("the agent %s: icon takes one or two letters, or one emoji", e.Name)
	}
	if len(e.LoginLine) > 1000 || strings.ContainsFunc(e.LoginLine, unicode.IsControl) {
		return acp.Program{}, fmt.Errorf("the agent %s: login_command takes one line of at most 1,000 bytes", e.Name)
	}
	dirs, err := absolute(e.Dirs)
	if err != nil {
		return acp.Program{}, fmt.Errorf("the agent %s: %w", e.Name, err)
	}
	p, known := acp.Known(e.Name)
	if !known && e.Command == "" {
		return acp.Program{}, fmt.Errorf("the agent %s has no command: name the program to run", e.Name)
	}
	p.Name, p.Env, p.Model, p.Dirs = e.Name, e.Env, e.Model, dirs
	set(&p.Icon, e.Icon)
	set(&p.Auth, e.Auth)
	set(&p.Title, e.Title)
	set(&p.Description, e.Description)
	set(&p.Command, e.Command)
	set(&p.Login, e.Login)
	set(&p.LoginLine, e.LoginLine)
	if e.Args != nil || !known {
		p.Args = e.Args
	}
	p.Pass = append(p.Pass[:len(p.Pass):len(p.Pass)], e.Pass...)
	return p, nil
}

// absolute resolves the directories an agent may work in; ~ is the user's home directory.
func absolute(dirs []string) (out []string, err error) {
	for _, dir := range dirs {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, err
			}
			dir = filepath.Join(home, rest)
		}
		if info, err := os.Stat(dir); !filepath.IsAbs(dir) || err != nil || !info.IsDir() {
			return nil, fmt.Errorf("dirs: %q is not the absolute path of an existing directory", dir)
		}
		out = append(out, filepath.Clean(dir))
	}
	return out, nil
}

func set(to *string, value string) {
	if value != "" {
		*to = value
	}
}
