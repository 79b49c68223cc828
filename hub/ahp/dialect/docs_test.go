package dialect

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/release"
)

const docs = "../../../docs/versions.md"

// TestVersionsDocument makes docs/versions.md from the adapters. AHPHUB_WRITE_DOCS=1 writes it.
func TestVersionsDocument(t *testing.T) {
	want := document()
	if os.Getenv("AHPHUB_WRITE_DOCS") == "1" {
		must(t, os.WriteFile(docs, []byte(want), 0o644))
	}
	got, err := os.ReadFile(docs)
	must(t, err)
	if string(got) != want {
		t.Error("docs/versions.md is stale: run AHPHUB_WRITE_DOCS=1 go test -run TestVersionsDocument ./hub/ahp/dialect")
	}
}

// A field that an adapter makes something else of is one that its version adds.
func TestConvertedFieldsAreOfTheVersion(t *testing.T) {
	for _, s := range steps {
		for _, name := range s.converts {
			if of, field, _ := strings.Cut(name, "."); !s.newer.fields[of][field] {
				t.Errorf("before %s: %s did not come with it", s.new, name)
			}
		}
	}
}

func document() string {
	var b strings.Builder
	b.WriteString(`# Versions of the protocol

The host works in AHP ` + ahp.Version +
		` and speaks the older versions through adapters. Of the versions that a client offers, the
highest in one of these ranges is taken and answered as it was offered:

` + ranges() + `
A client that offers none of these and a later 1.x is answered the highest of those, as it was offered, and spoken to in ` + ahp.Version + `.

A client of an older version sees the same sessions as all others, in the shape of its version. What it cannot be told is
left out or becomes something else; each table below counts for its version and all before it. An action that a version
lacks is not sent to its clients, and refused when one dispatches it; one that has no word in ` + ahp.Version +
		` is refused with what
to do instead.

Which release each action, command, notification and field came with is in one table, ` + "`hub/ahp/release/releases.txt`" + `, each
row with its source. Fields of later versions in what a client sends are ignored, but for ` + "`_meta`" +
		`, whose keys are free.

From 0.9 on the wire is the same but for actions and commands: fields and values of 1.0.0 are sent to clients of 0.9, as
these ignore what they do not know. 0.10.0 was never released, and has what 0.9 has.

## Names of sessions

A session has one URI. Its creator chooses it: web pages make ` + "`ahp-session:/<id>`" + `, and some clients make ` +
		"`<provider>:/<id>`" + `
because they read the agent out of the scheme. The address that a client connects to decides what it is told:

| address | a session made as ` + "`ahp-session:/<id>`" + ` is called |
| --- | --- |
| ` + "`ws://host:port/ahp`" + ` | ` + "`ahp-session:/<id>`" + `. A client that follows it as ` + "`<provider>:/<id>`" +
		` is told that name from then on |
| ` + "`ws://host:port`" + `, with a token | ` + "`<provider>:/<id>`" +
		`, in lists and notifications too. A client that makes or follows it as ` + "`ahp-session:/<id>`" +
		` is told that name from then on |

Both names are understood at both addresses, also in the URIs below a session, as ` + "`<session>/annotations`" +
		`. A session
that was made as ` + "`<provider>:/<id>`" + ` has that name for every client. A changeset may be followed as
` + "`<session>/changeset/turn/<turnId>`" + ` (or ` + "`…/session`, `…/uncommitted`, `…/branch`" +
		`) as well as by its name in the catalogue.
VS Code connects to the second address: [editors](editors.md) has the lines.

(This page is made from the adapters in ` + "`hub/ahp/dialect`" + ` by their tests.)
`)
	fmt.Fprintf(&b, "\n## Before %s\n\n| what | becomes |\n| --- | --- |\n", ahp.Version)
	fmt.Fprintf(&b, "| %s | not sent |\n", quoted(cameWith(release.Action, ahp.Version)))
	fmt.Fprintf(&b, "| %s of the client | -32601 |\n", quoted(cameWith(release.Command, ahp.Version)))
	for _, s := range slices.Backward(steps) {
		fmt.Fprintf(&b, "\n## Before %s\n\n| what | becomes |\n| --- | --- |\n", s.new)
		for _, l := range s.lost {
			fmt.Fprintf(&b, "| %s | %s |\n", l.What, l.Becomes)
		}
		if filtered := s.filtered(); len(filtered) > 0 {
			fmt.Fprintf(&b, "| %s | not sent |\n", strings.Join(filtered, ", "))
		}
		leftOut := s.leftOut()
		for _, title := range slices.Sorted(maps.Keys(leftOut)) {
			fmt.Fprintf(&b, "| %s of %s | left out |\n", quoted(leftOut[title]), title)
		}
	}
	return b.String()
}

func ranges() string {
	out := ""
	for _, s := range spans {
		v := mustParse(s.first)
		switch {
		case s.only:
			out += fmt.Sprintf("- exactly %s\n", v)
		case v.Patch > 0:
			out += fmt.Sprintf("- %s and later %d.%d\n", v, v.Major, v.Minor)
		default:
			out += fmt.Sprintf("- %d.%d.x\n", v.Major, v.Minor)
		}
	}
	return out
}

// cameWith lists what a release added, of actions or commands.
func cameWith(kind release.Kind, version string) (names []string) {
	for _, r := range release.Rows() {
		if r.Kind == kind && r.Release == version && !r.Gone {
			names = append(names, r.Name)
		}
	}
	return names
}

// filtered lists the actions that the older version lacks and the adapter has no other word for.
func (s *step) filtered() []string {
	var out []string
	for _, info := range ahp.Actions() {
		since := mustParse(release.Since(release.Action, "", info.Type))
		if since.Compare(s.old) <= 0 || since.Compare(s.new) > 0 {
			continue
		}
		o := object{"type": info.Type}
		s.lower(&Context{}, info.Type, o)
		if newer(text(o, "type"), s.old) && !s.tells(info.Type) {
			out = append(out, "`"+info.Type+"`")
		}
	}
	return out
}

// reports whether a row of its own is about the action.
func (s *step) tells(actionType string) bool {
	return slices.ContainsFunc(s.lost, func(l Loss) bool { return strings.Contains(l.What, "`"+actionType+"`") })
}

// leftOut lists the fields of the newer version that the adapter takes out, by the title of what they are of.
// Those that it makes something else of have a row of their own.
func (s *step) leftOut() map[string][]string {
	out := map[string][]string{}
	for _, r := range release.Rows() {
		if strings.HasPrefix(r.Of, "Automation") { // their channels and commands are not there
			continue
		}
		if !s.newer.fields[r.Of][r.Name] || r.Kind != release.Field || named[r.Of] == nil || isParams(r.Of) ||
			slices.Contains(s.converts, r.Of+"."+r.Name) || slices.Contains(out[titled(r.Of)], r.Name) {
			continue
		}
		out[titled(r.Of)] = append(out[titled(r.Of)], r.Name)
	}
	return out
}

// isParams reports whether only clients send values of a type.
func isParams(of string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(params)),
		func(v any) bool { return ahp.ShapeOf(v).Name == of })
}

func quoted(fields []string) string { return "`" + strings.Join(fields, "`, `") + "`" }

var titles = map[string]string{
	"ActiveTurn": "a turn", "AgentCapabilities": "an agent's capabilities",
	"AgentCustomization": "an agent of a plugin",
	"AgentInfo":          "an agent", "Changeset": "a changeset in the list", "ChangesetFile": "a file of a changeset",
	"ChatState": "a chat", "ChatSummary": "a chat in the session's list", "ContentRef": "a reference to content",
	"DirectoryCustomization": "a directory of customizations", "Message": "a message",
	"ClientPluginCustomization": "a plugin", "PluginCustomization": "a plugin",
	"McpServerCustomization": "an MCP server", "MessageResourceAttachment": "an attached resource",
	"MultipleChatsCapability": "an agent's capabilities", "HookCustomization": "a hook, prompt, rule or skill",
	"PromptCustomization": "a hook, prompt, rule or skill", "RuleCustomization": "a hook, prompt, rule or skill",
	"SkillCustomization": "a hook, prompt, rule or skill", "ResourceResponsePart": "a reference to content",
	"SessionModelInfo": "a model", "SessionState": "a session", "SessionSummary": "a session in the list",
	"SystemNotificationResponsePart": "a system notification", "TerminalSessionClaim": "a session's claim",
	"TerminalState": "a terminal", "TerminalInfo": "a terminal in the list",
	"ToolResultResourceContent": "a reference to content", "ToolResultTerminalContent": "a tool's terminal",
	"Turn":                       "a turn",
	"McpServerStartingState":     "an MCP server that starts",
	"McpServerAuthRequiredState": "an MCP server that waits for a sign-in",
	"ConfigPropertySchema":       "a setting", "SessionConfigPropertySchema": "a setting",
	"MultipleWorkingDirectoriesCapability": "an agent's capability of several directories",
}

// titled says in words what a field is of.
func titled(of string) string {
	if t := titles[of]; t != "" {
		return t
	}
	if strings.HasPrefix(of, "ToolCall") && strings.HasSuffix(of, "State") {
		return "a tool call"
	}
	for method, v := range results {
		if ahp.ShapeOf(v).Name == of {
			return "the result of `" + method + "`"
		}
	}
	for _, info := range ahp.Actions() {
		if ahp.ShapeOf(info.New()).Name == of {
			return "`" + info.Type + "`"
		}
	}
	return "`" + of + "`"
}
