package custom

import "github.com/ahphub/ahphub/hub/machine"

// spot is a place below a root for entries of one kind.
type spot struct {
	dir   string // "." is the root itself, which is never listed
	kind  Kind
	files []string // their names; empty: all that match
	match string   // suffix of the names
	deep  bool     // includes subfolders
	read  reader
}

// config is a file that declares MCP servers: a member of a JSON object.
type config struct {
	file, member string
}

var workspaceSpots = []spot{
	{dir: ".", kind: Rule, files: []string{"AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", ".cursorrules"},
		read: readMarkdown},
	{dir: ".github", kind: Rule, files: []string{"copilot-instructions.md"}, read: readMarkdown},
	{dir: ".github/instructions", kind: Rule, match: ".instructions.md", deep: true, read: readMarkdown},
	{dir: ".claude", kind: Rule, files: []string{"CLAUDE.md"}, read: readMarkdown},
	{dir: ".claude/rules", kind: Rule, match: ".md", deep: true, read: readMarkdown},
	{dir: ".cursor/rules", kind: Rule, match: ".mdc", deep: true, read: readMarkdown},
	{dir: ".agents/skills", kind: Skill, read: readSkill},
	{dir: ".claude/skills", kind: Skill, read: readSkill},
	{dir: ".github/skills", kind: Skill, read: readSkill},
	{dir: ".gemini/skills", kind: Skill, read: readSkill},
	{dir: ".opencode/skills", kind: Skill, read: readSkill},
	{dir: ".claude/agents", kind: Agent, match: ".md", deep: true, read: readMarkdown},
	{dir: ".github/agents", kind: Agent, match: ".md", read: readMarkdown},
	{dir: ".github/chatmodes", kind: Agent, match: ".chatmode.md", read: readMarkdown},
	{dir: ".opencode/agents", kind: Agent, match: ".md", read: readMarkdown},
	{dir: ".gemini/agents", kind: Agent, match: ".md", read: readMarkdown},
	{dir: ".claude/commands", kind: Prompt, match: ".md", deep: true, read: readMarkdown},
	{dir: ".github/prompts", kind: Prompt, match: ".prompt.md", read: readMarkdown},
	{dir: ".opencode/commands", kind: Prompt, match: ".md", read: readMarkdown},
	{dir: ".claude", kind: Hook, files: []string{"settings.json", "settings.local.json"}, read: readHooks},
	{dir: ".github/hooks", kind: Hook, match: ".json", read: readHooks},
	{dir: ".cursor", kind: Hook, files: []string{"hooks.json"}, read: readHooks},
}

var workspaceConfigs = []config{
	{".mcp.json", "mcpServers"},
	{".vscode/mcp.json", "servers"},
	{".cursor/mcp.json", "mcpServers"},
	{".gemini/settings.json", "mcpServers"},
}

var homeSpots = []spot{
	{dir: ".claude", kind: Rule, files: []string{"CLAUDE.md"}, read: readMarkdown},
	{dir: ".codex", kind: Rule, files: []string{"AGENTS.md"}, read: readMarkdown},
	{dir: ".gemini", kind: Rule, files: []string{"GEMINI.md"}, read: readMarkdown},
	{dir: ".config/opencode", kind: Rule, files: []string{"AGENTS.md"}, read: readMarkdown},
	{dir: ".claude/rules", kind: Rule, match: ".md", deep: true, read: readMarkdown},
	{dir: ".agents/skills", kind: Skill, read: readSkill},
	{dir: ".claude/skills", kind: Skill, read: readSkill},
	{dir: ".codex/skills", kind: Skill, read: readSkill},
	{dir: ".copilot/skills", kind: Skill, read: readSkill},
	{dir: ".gemini/skills", kind: Skill, read: readSkill},
	{dir: ".config/opencode/skills", kind: Skill, read: readSkill},
	{dir: ".claude/agents", kind: Agent, match: ".md", deep: true, read: readMarkdown},
	{dir: ".copilot/agents", kind: Agent, match: ".md", read: readMarkdown},
	{dir: ".config/opencode/agents", kind: Agent, match: ".md", read: readMarkdown},
	{dir: ".claude/commands", kind: Prompt, match: ".md", deep: true, read: readMarkdown},
	{dir: ".codex/prompts", kind: Prompt, match: ".md", read: readMarkdown},
	{dir: ".config/opencode/commands", kind: Prompt, match: ".md", read: readMarkdown},
	{dir: ".claude", kind: Hook, files: []string{"settings.json"}, read: readHooks},
}

var homeConfigs = []config{
	{".claude.json", "mcpServers"},
	{".cursor/mcp.json", "mcpServers"},
	{".gemini/settings.json", "mcpServers"},
	{".copilot/mcp-config.json", "mcpServers"},
}

var ownConfigs = []config{{machine.OwnServers, "mcpServers"}}

// pluginDirs is the folder below a root where plugins are installed.
const pluginDirs = ".agents/plugins"

func spotsOf(p Place) []spot {
	switch p {
	case Workspace:
		return workspaceSpots
	case Home:
		return homeSpots
	}
	return nil
}

func configsOf(p Place) []config {
	switch p {
	case Workspace:
		return workspaceConfigs
	case Home:
		return homeConfigs
	}
	return ownConfigs
}
