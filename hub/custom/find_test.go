package custom

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree writes files, each after a line "-- name --", and returns their directory.
func tree(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	grow(t, dir, archive)
	return dir
}

func grow(t testing.TB, dir, archive string) {
	t.Helper()
	for _, part := range strings.Split(archive, "\n-- ")[1:] {
		name, text, _ := strings.Cut(part, " --\n")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// told formats what was found as readable lines.
func told(root Root, f Found) (lines []string) {
	for _, g := range f.Groups {
		kind := string(g.Contents)
		if g.Plugin {
			kind = "plugin " + g.Version
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s [%s] %s", g.Name, strings.TrimSpace(kind), g.Problem)))
		for _, e := range g.Entries {
			lines = append(lines, "  "+line(root, e))
		}
	}
	for _, e := range f.Servers {
		lines = append(lines, line(root, e))
	}
	return lines
}

func line(root Root, e Entry) string {
	out := fmt.Sprintf("%s %s", e.Kind, e.Name)
	for name, v := range map[string]bool{" not-by-model": e.NoModel, " not-by-user": e.NoUser,
		" always": e.Always != nil && *e.Always} {
		if v {
			out += name
		}
	}
	if e.Description != "" {
		out += " “" + e.Description + "”"
	}
	if e.Model != "" || e.Tools != nil {
		out += fmt.Sprintf(" %s %v", e.Model, e.Tools)
	}
	if e.Globs != nil {
		out += fmt.Sprintf(" for %v", e.Globs)
	}
	if e.Command != nil {
		out += " → " + e.Command.Shown()
	}
	if e.Line != 0 {
		out += fmt.Sprintf(" at line %d", e.Line)
	}
	if e.Problem != "" {
		out += " !" + e.Problem
	}
	return strings.ReplaceAll(out, root.Dir, "$DIR")
}

const workspace = `
-- AGENTS.md --
# House rules

Tabs.
-- CLAUDE.md --
See AGENTS.md.
-- .github/copilot-instructions.md --
---
description: For Copilot
---
-- .github/instructions/web/ts.instructions.md --
---
applyTo: "**/*.ts,**/*.{tsx,jsx}"
description: 'TypeScript'
---
-- .cursor/rules/go.mdc --
---
description: Go style
globs: **/*.go, *.mod
alwaysApply: true
---
-- .claude/skills/release/SKILL.md --
---
name: release
description: |
  Makes a release.
  Use it when asked to ship.
disable-model-invocation: true
---
-- .claude/skills/empty/readme.txt --
no skill
-- .agents/skills/nameless/SKILL.md --
Just text.
-- .claude/agents/reviewer.md --
---
name: reviewer
description: Reads changes
model: opus
tools: Read, Grep
---
-- .github/agents/planner.agent.md --
---
tools: [search, edit]
user-invocable: false
---
-- .github/agents/broken.agent.md --
---
tools: [search
---
-- .claude/commands/team/ship.md --
---
description: Ships it
---
-- .github/prompts/explain.prompt.md --
Explain.
-- .claude/settings.json --
{
  // what runs by itself
  "hooks": {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "secret-script --token 1"}]}, {"matcher": "Edit|Write"}],
    "Stop": [{"hooks": []}],
  },
}
-- .mcp.json --
{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "server files", "${workspaceFolder}"], "env": {"TOKEN": "${TOKEN}"}},
  "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:WEB:-none}"}},
  "odd": {"args": []},
  "wrong": 3
}}
-- .vscode/mcp.json --
{
  // for the editor
  "inputs": [],
  "servers": {
    "asks": {"type": "stdio", "command": "./run.sh", "args": ["${input:key}"]}, /* a comma too many: */
  },
}
-- .cursor/mcp.json --
{"mcpServers": 
`

func TestEveryFileAgentsReadIsFound(t *testing.T) {
	root := Root{Dir: tree(t, workspace), Place: Workspace}
	want := []string{
		". [rule]",
		"  rule AGENTS.md “House rules”",
		"  rule CLAUDE.md",
		".github [rule]",
		"  rule copilot-instructions “For Copilot”",
		".github/instructions [rule]",
		"  rule ts “TypeScript” for [**/*.ts **/*.{tsx,jsx}]",
		".cursor/rules [rule]",
		"  rule go always “Go style” for [**/*.go *.mod]",
		".agents/skills [skill]",
		"  skill nameless !has no description, so no agent can tell when to use it",
		".claude/skills [skill]",
		"  skill release not-by-model “Makes a release. Use it when asked to ship.”",
		".claude/agents [agent]",
		"  agent reviewer “Reads changes” opus [Read Grep]",
		".github/agents [agent]",
		"  agent broken !its head is no YAML: line 1: did not find expected ',' or ']'",
		"  agent planner not-by-user  [search edit]",
		".claude/commands [prompt]",
		"  prompt ship “Ships it”",
		".github/prompts [prompt]",
		"  prompt explain",
		".claude [hook]",
		"  hook PreToolUse “for Bash” at line 4",
		"  hook PreToolUse “for Edit|Write” at line 4",
		"  hook Stop at line 5",
		"mcpServer files → npx -y 'server files' '${workspaceFolder}' at line 2",
		"mcpServer web → https://example.com/mcp at line 3",
		"mcpServer odd at line 4 !says neither a command nor a url",
		"mcpServer wrong at line 5 !is not declared as a server is: json: cannot unmarshal number into Go value of " +
			"type custom.declared",
		"mcpServer asks → ./run.sh '${input:key}' at line 5",
		"mcpServer .cursor/mcp.json !cannot be read: it is no JSON: it ends in the middle",
	}
	if diff := cmp.Diff(want, told(root, Find(root, Limits{}))); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestPluginsOfTheOpenLayoutAreFound(t *testing.T) {
	root := Root{Place: Home, Dir: tree(t, `
-- .agents/plugins/deploy/.plugin/plugin.json --
{"name": "deploy-tools", "version": "1.2.0", "commands": ["./slash", "../../out"], "rules": "./none"}
-- .agents/plugins/deploy/skills/status/SKILL.md --
---
description: Tells the status
---
-- .agents/plugins/deploy/agents/ops.md --
Ops.
-- .agents/plugins/deploy/slash/go.md --
Go.
-- .agents/plugins/deploy/hooks/hooks.json --
{"hooks": {"Stop": [{}]}}
-- .agents/plugins/deploy/.mcp.json --
{"mcpServers": {"api": {"command": "${PLUGIN_ROOT}/bin/api"}}}
-- .agents/plugins/plain/rules/all.mdc --
Rule.
-- .agents/plugins/spoiled/.claude-plugin/plugin.json --
{"name": 
-- .claude/CLAUDE.md --
# Mine
`)}
	want := []string{
		"~/.claude [rule]",
		"  rule CLAUDE.md “Mine”",
		"deploy-tools [plugin 1.2.0]",
		"  skill status “Tells the status”",
		"  agent ops",
		"  prompt go",
		"  hook Stop at line 1",
		"  mcpServer api → '${PLUGIN_ROOT}/bin/api' at line 1",
		"plain [plugin]",
		"  rule all",
		"spoiled [plugin] its manifest cannot be read: it is no JSON: it ends in the middle",
	}
	found := Find(root, Limits{})
	if diff := cmp.Diff(want, told(root, found)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	cmd, err := found.Groups[1].Entries[4].Command.Expand(func(string) (string, bool) { return "", false })
	if want := filepath.Join(root.Dir, ".agents/plugins/deploy/bin/api"); err != nil || cmd.Argv[0] != want {
		t.Errorf("the plugin's server is %v, %v; want %s", cmd.Argv, err, want)
	}
}

// A repository may contain anything: links that leave it, pipes that block, far too many files.
func TestNothingOutsideOfARootIsRead(t *testing.T) {
	secret := filepath.Join(tree(t, "\n-- key.md --\n# top secret\n"), "key.md")
	dir := tree(t, "\n-- .claude/commands/fine.md --\nFine.\n")
	for from, to := range map[string]string{"AGENTS.md": secret, ".claude/commands/out.md": secret,
		".claude/skills": filepath.Dir(secret), "CLAUDE.md": "/etc/hostname"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := makePipe(filepath.Join(dir, "GEMINI.md")); err != nil {
		t.Fatal(err)
	}
	root := Root{Dir: dir, Place: Workspace}
	want := []string{".claude/commands [prompt]", "  prompt fine"}
	if diff := cmp.Diff(want, told(root, Find(root, Limits{}))); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}

func TestLinksInsideOfARootAreFollowed(t *testing.T) {
	dir := tree(t, "\n-- .agents/skills/one/SKILL.md --\n---\ndescription: One\n---\n-- .claude/x --\n")
	if err := os.Symlink("../.agents/skills", filepath.Join(dir, ".claude/skills")); err != nil {
		t.Fatal(err)
	}
	root := Root{Dir: dir, Place: Workspace}
	if got := told(root, Find(root, Limits{})); !slices.Contains(got, ".claude/skills [skill]") || len(got) != 4 {
		t.Errorf("found %q", got)
	}
}

func TestLimitsAreReported(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "\n-- .claude/commands/c%02d.md --\nx", i)
	}
	b.WriteString("\n-- .claude/commands/a/b/c/d/e/deep.md --\nx\n-- .mcp.json --\n{\"mcpServers\": {\"a\": " +
		"{\"command\": \"" + strings.Repeat("x", 2000) + "\"}}}")
	root := Root{Dir: tree(t, b.String()), Place: Workspace}
	found := Find(root, Limits{Entries: 10, Config: 1000, Depth: 2})
	if len(found.Groups) != 1 || len(found.Groups[0].Entries) != 10 || !found.Over {
		t.Errorf("%d entries, over %t", len(found.Groups[0].Entries), found.Over)
	}
	if found.Servers[0].Problem != "cannot be read: it is too large to be read" {
		t.Errorf("a file that is too large: %q", found.Servers[0].Problem)
	}
	if found := Find(root, Limits{Files: 3}); len(found.Groups[0].Entries) != 3 || !found.Over {
		t.Errorf("of 3 files %d were read", len(found.Groups[0].Entries))
	}
}

func TestIDsStayTheSame(t *testing.T) {
	a, b := tree(t, workspace), tree(t, workspace)
	one := Find(Root{Dir: a, Place: Workspace}, Limits{})
	again := Find(Root{Dir: a, Place: Workspace}, Limits{})
	other := Find(Root{Dir: b, Place: Workspace}, Limits{})
	standIn := Find(Root{Dir: b, As: a, Place: Workspace}, Limits{})
	id := func(f Found) string { return f.Groups[0].Entries[0].ID + f.Servers[0].ID }
	if id(one) != id(again) || id(one) == id(other) || id(one) != id(standIn) {
		t.Error("an id is not the file's own, or not a worktree's original's")
	}
	if one.Servers[0].Command.Digest() != standIn.Servers[0].Command.Digest() ||
		one.Servers[0].Command.Digest() == other.Servers[0].Command.Digest() {
		t.Error("a command is trusted elsewhere, or not in a worktree of the same directory")
	}
	seen := map[string]bool{}
	for _, g := range one.Groups {
		for _, e := range g.Entries {
			if seen[e.ID] {
				t.Errorf("%s %s has the id of another", e.Kind, e.Name)
			}
			seen[e.ID] = true
		}
	}
}

func TestPlaceholdersAreFilledIn(t *testing.T) {
	vars := map[string]string{"KEY": "k1", "EMPTY": ""}
	lookup := func(n string) (string, bool) { v, ok := vars[n]; return v, ok }
	c := Command{Workspace: "/app", Plugin: "/plug"}
	for in, want := range map[string]string{
		"${workspaceFolder}/x":         "/app/x",
		"${workspaceFolderBasename}":   "app",
		"${CLAUDE_PLUGIN_ROOT}/bin":    "/plug/bin",
		"${env:KEY}-${KEY}":            "k1-k1",
		"${NONE:-a b}":                 "a b",
		"${EMPTY:-x}":                  "",
		"$HOME stays, ${ too, ${1} as": "$HOME stays, ${ too, ${1} as",
	} {
		c.Argv = []string{in}
		if out, err := c.Expand(lookup); err != nil || out.Argv[0] != want {
			t.Errorf("%s: %q, %v; want %q", in, out.Argv, err, want)
		}
	}
	for in, says := range map[string]string{"${NONE}": "NONE, which is not set", "${input:key}": "does not support",
		"${config:a.b}": "only editors support"} {
		c.Argv = []string{in}
		if _, err := c.Expand(lookup); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want an error that says %q", in, err, says)
		}
	}
	c = Command{Argv: []string{"a", "${KEY}"}, Env: map[string]string{"B": "${env:OTHER}", "A": "${workspaceFolder}"},
		Workspace: "/w"}
	if diff := cmp.Diff([]string{"KEY", "OTHER"}, c.Reads()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"A", "B"}, c.Sets()); diff != "" {
		t.Error(diff)
	}
}

func FuzzFrontmatter(f *testing.F) {
	for _, s := range []string{"---\nname: a\n---\nb", "---\n", "---\nglobs: *.go, '\n---",
		"\xef\xbb\xbf---\r\na: [1\r\n---\r\n", "---\na: &a [*a]\n---\n", "---\n? \n---"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		head, body, err := frontmatter(data)
		var e Entry
		describe(&e, head, Rule, "x")
		if err == nil && len(body) > len(data) || len(e.Description) > mostDescription+10 {
			t.Error("there is more than there was")
		}
	})
}

func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"a":{"b":1,},}`, "{// x\n\"a\":1}", `{"a":"\"/*"}`, "{/*",
		`{"mcpServers":{"x":{"command":["a"],"env":{"A":1}}}}`, `{"a":1}/`, "[]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(withoutComments(data)) != len(data) {
			t.Error("comments are taken out with their place")
		}
		list, _ := inside(data, "mcpServers")
		for _, m := range list {
			if m.line < 1 {
				t.Errorf("%q is at line %d", m.name, m.line)
			}
		}
	})
}
