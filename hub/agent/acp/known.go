package acp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// known lists programs that speak the protocol, by their commands in order of preference. Pass
// names only each program's own settings and keys.
var known = []struct {
	commands []string
	Program
}{
	{[]string{"claude-agent-acp", "claude-code-acp"},
		Program{Name: "claude", Title: "Claude Code", Description: "Anthropic's coding agent",
			Pass:      []string{"ANTHROPIC_*", "CLAUDE_*", "AWS_*", "GOOGLE_*", "CLOUD_ML_REGION", "IS_SANDBOX"},
			Login:     "Run claude on the server and log in, or set ANTHROPIC_API_KEY",
			LoginLine: "claude"}},
	{[]string{"gemini"}, Program{Name: "gemini", Title: "Gemini CLI", Description: "Google's coding agent",
		Args: []string{"--experimental-acp"}, NoRead: true,
		Pass: []string{"GEMINI_*", "GOOGLE_*"}, Login: "Run gemini on the server and log in, or set GEMINI_API_KEY",
		LoginLine: "gemini"}},
	{[]string{"codex-acp"}, Program{Name: "codex", Title: "Codex", Description: "OpenAI's coding agent",
		Pass: []string{"OPENAI_*", "CODEX_*"}, Login: "Run codex login on the server, or set OPENAI_API_KEY",
		LoginLine: "codex login"}},
	{[]string{"opencode"}, Program{Name: "opencode", Title: "opencode",
		Description: "An open coding agent for many models", Args: []string{"acp"},
		Pass:      []string{"OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_*"},
		Login:     "Run opencode auth login on the server",
		LoginLine: "opencode auth login"}},
	{[]string{"goose"}, Program{Name: "goose", Title: "Goose", Description: "Block's open agent", Args: []string{"acp"},
		Pass:      []string{"GOOSE_*", "ANTHROPIC_*", "OPENAI_*", "GOOGLE_*", "OPENROUTER_*"},
		Login:     "Run goose configure on the server",
		LoginLine: "goose configure"}},
	{[]string{"qwen"}, Program{Name: "qwen", Title: "Qwen Code", Description: "Alibaba's coding agent",
		Args: []string{"--experimental-acp"},
		Pass: []string{"QWEN_*", "DASHSCOPE_*", "OPENAI_*"}, Login: "Run qwen on the server and log in",
		LoginLine: "qwen"}},
	{[]string{"copilot"}, Program{Name: "copilot", Title: "GitHub Copilot", Description: "GitHub's coding agent",
		Args:      []string{"--acp"},
		Pass:      []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"},
		Login:     "Run copilot on the server and log in with /login",
		LoginLine: "copilot"}},
	{[]string{"auggie"}, Program{Name: "auggie", Title: "Auggie", Description: "Augment's coding agent",
		Args: []string{"--acp"},
		Pass: []string{"AUGMENT_*"}, Login: "Run auggie login on the server",
		LoginLine: "auggie login"}},
	{[]string{"vibe-acp"}, Program{Name: "vibe", Title: "Mistral Vibe", Description: "Mistral's coding agent",
		Pass: []string{"MISTRAL_*", "VIBE_*"}, Login: "Run vibe --setup on the server, or set MISTRAL_API_KEY",
		LoginLine: "vibe --setup"}},
}

// homes lists the paths of known programs below the home directory, by name: credentials that they
// renew, and settings. Other files, such as transcripts, are separate in each sandbox.
var homes = map[string]struct{ write, read []string }{
	"claude":   {[]string{".claude/.credentials.json"}, []string{".claude/settings.json", ".claude/CLAUDE.md", ".claude/commands", ".claude/agents", ".claude/skills", ".claude/plugins"}},
	"gemini":   {[]string{".gemini/oauth_creds.json"}, []string{".gemini/settings.json", ".gemini/GEMINI.md", ".gemini/google_accounts.json", ".gemini/installation_id"}},
	"codex":    {[]string{".codex/auth.json"}, []string{".codex/config.toml", ".codex/AGENTS.md", ".codex/prompts"}},
	"opencode": {[]string{".local/share/opencode/auth.json"}, []string{".config/opencode"}},
	"goose":    {nil, []string{".config/goose"}},
	"qwen":     {[]string{".qwen/oauth_creds.json"}, []string{".qwen/settings.json", ".qwen/QWEN.md"}},
	"copilot":  {[]string{".copilot/config.json"}, []string{".copilot/mcp-config.json"}},
	"auggie":   {[]string{".augment/session.json"}, []string{".augment/settings.json"}},
	"vibe":     {nil, []string{".vibe/config.toml", ".vibe/.env"}},
}

// hosts lists the services that known programs need, by name: models, and signing in to them. It
// leaves out telemetry.
var hosts = map[string][]string{
	"claude": {"api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"},
	"gemini": {"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com",
		"accounts.google.com", "aiplatform.googleapis.com"},
	"codex": {"api.openai.com", "auth.openai.com", "chatgpt.com"},
	"opencode": {"opencode.ai", "models.dev", "api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com",
		"openrouter.ai"},
	"goose":   {"api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "openrouter.ai"},
	"qwen":    {"chat.qwen.ai", "portal.qwen.ai", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"},
	"copilot": {"github.com", "api.github.com", "*.githubcopilot.com", "copilot-proxy.githubusercontent.com"},
	"auggie":  {"*.augmentcode.com"},
	"vibe":    {"api.mistral.ai", "codestral.mistral.ai"},
}

// withHome fills in a known program's paths below the home directory, and its services.
func (p Program) withHome() Program {
	p.HomeWrite, p.HomeRead, p.Hosts = homes[p.Name].write, homes[p.Name].read, hosts[p.Name]
	return p
}

// Names lists the commands that Installed looks for, the usual one of each agent.
func Names() []string {
	var names []string
	for _, k := range known {
		names = append(names, k.commands[0])
	}
	return names
}

// Installed finds the known agents on PATH and in npm's directories of the user. It starts nothing.
func Installed() []Program {
	var found []Program
	for _, k := range known {
		for _, command := range k.commands {
			if path, ok := lookUp(command); ok {
				p := k.withHome()
				p.Command = path
				found = append(found, p)
				break
			}
		}
	}
	return found
}

func lookUp(command string) (string, bool) {
	if path, err := find(command); err == nil {
		return path, true
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", false
	}
	for _, dir := range binaries(home) {
		if path, err := exec.LookPath(filepath.Join(dir, command)); err == nil && filepath.IsAbs(path) {
			return path, true
		}
	}
	return "", false
}

// binaries lists directories, besides PATH, where Node's package managers install a user's
// programs.
func binaries(home string) []string {
	dirs := []string{filepath.Join(os.Getenv("NPM_CONFIG_PREFIX"), "bin"), filepath.Join(npmPrefix(home), "bin")}
	for _, dir := range []string{".npm-global/bin", ".local/bin", ".local/share/pnpm", ".bun/bin", ".volta/bin"} {
		dirs = append(dirs, filepath.Join(home, filepath.FromSlash(dir)))
	}
	managed, err := filepath.Glob(filepath.Join(home, ".nvm", "versions", "node", "*", "bin"))
	if err != nil {
		return dirs
	}
	return append(dirs, managed...)
}

// npmPrefix returns the folder for global packages in the user's settings.
func npmPrefix(home string) string {
	raw, err := os.ReadFile(filepath.Join(home, ".npmrc"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if key, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(key) == "prefix" {
			value = strings.Trim(strings.TrimSpace(value), `"`)
			return strings.NewReplacer("${HOME}", home, "$HOME", home).Replace(value)
		}
	}
	return ""
}

// Known returns a known agent by its name, as installed on this machine, or by its usual command.
func Known(name string) (Program, bool) {
	for _, k := range known {
		if k.Name != name {
			continue
		}
		p := k.withHome()
		p.Command = k.commands[0]
		for _, command := range k.commands {
			if path, ok := lookUp(command); ok {
				p.Command = path
				break
			}
		}
		return p, true
	}
	return Program{}, false
}

// Path returns the path of the program's command.
func (p Program) Path() (string, error) { return find(p.Command) }
