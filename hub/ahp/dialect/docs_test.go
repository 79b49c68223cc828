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

// TestVersionsDocument generates docs/versions.md from the adapters. AHPHUB_WRITE_DOCS=1 writes it.
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

// An adapter converts only fields that its version adds.
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
	b.WriteString(strings.NewReplacer("~", "`", "@V", ahp.Version, "@R", ranges()).Replace(`# Versions of the protocol

ahphub works in AHP @V and supports older versions through adapters. From the versions that a client offers, ahphub
chooses the highest one in these ranges, and answers with the version exactly as the client offered it:

@R
If a client offers none of these but a later 1.x, ahphub answers with the highest 1.x that the client offered, and
uses @V.

A client of an older version sees the same sessions as all other clients, in the format of its version. Data that its
version cannot express is left out or converted. Each table below applies to its version and to all earlier versions.
ahphub does not send an action that a version lacks to clients of that version, and refuses it when one of them
dispatches it. It also refuses actions that have no equivalent in @V; the error says what to do instead.

The table ~hub/ahp/release/releases.txt~ lists the release that introduced each action, command, notification and
field, each row with its source. In messages from clients, ahphub ignores fields of later versions, except in ~_meta~,
where any key is allowed.

Since 0.9, only actions and commands differ: ahphub sends fields and values of 1.0.0 to clients of 0.9, which ignore
those that they do not know. 0.10.0 was never released, and is the same as 0.9.

## Names of sessions

A session has one URI, which its creator chooses. Web pages create ~ahp-session:/<id>~. Some clients create
~<provider>:/<id>~, because they read the agent from the scheme. The address that a client connects to determines which
name it receives:

| address | name of a session created as ~ahp-session:/<id>~ |
| --- | --- |
| ~ws://host:port/ahp~ | ~ahp-session:/<id>~. A client that subscribes to it as ~<provider>:/<id>~ ` +
		`receives that name from then on |
| ~ws://host:port~, with a token | ~<provider>:/<id>~, also in lists and notifications. A client that ` +
		`creates it or subscribes to it as ~ahp-session:/<id>~ receives that name from then on |

Both addresses accept both names, also in the URIs below a session, such as ~<session>/annotations~. A session that was
created as ~<provider>:/<id>~ has that name for every client. A client can subscribe to a changeset as
~<session>/changeset/turn/<turnId>~ (or ~…/session~, ~…/uncommitted~, ~…/branch~), or by its name in the catalogue.
VS Code connects to the second address: see [editors](editors.md) for the settings.

(The tests of ~hub/ahp/dialect~ generate this page from its adapters.)
`))
	fmt.Fprintf(&b, "\n## Before %s\n\n| item | result |\n| --- | --- |\n", ahp.Version)
	fmt.Fprintf(&b, "| %s | not sent |\n", quoted(cameWith(release.Action, ahp.Version)))
	fmt.Fprintf(&b, "| %s of the client | -32601 |\n", quoted(cameWith(release.Command, ahp.Version)))
	for _, s := range slices.Backward(steps) {
		fmt.Fprintf(&b, "\n## Before %s\n\n| item | result |\n| --- | --- |\n", s.new)
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

// cameWith lists the actions or commands that a release added.
func cameWith(kind release.Kind, version string) (names []string) {
	for _, r := range release.Rows() {
		if r.Kind == kind && r.Release == version && !r.Gone {
			names = append(names, r.Name)
		}
	}
	return names
}

// filtered lists the actions that the older version lacks and the adapter does not convert.
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

// tells reports whether a row of the losses is about the action.
func (s *step) tells(actionType string) bool {
	return slices.ContainsFunc(s.lost, func(l Loss) bool { return strings.Contains(l.What, "`"+actionType+"`") })
}

// leftOut lists the fields of the newer version that the adapter removes, by the title of their
// type. Converted fields have a row of their own.
func (s *step) leftOut() map[string][]string {
	out := map[string][]string{}
	for _, r := range release.Rows() {
		if strings.HasPrefix(r.Of, "Automation") { // their channels and commands are not available
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
	"McpServerStartingState":     "a starting MCP server",
	"McpServerAuthRequiredState": "an MCP server that waits for a sign-in",
	"ConfigPropertySchema":       "a setting", "SessionConfigPropertySchema": "a setting",
	"MultipleWorkingDirectoriesCapability": "an agent's capability for several directories",
}

// titled describes the type of a field in words.
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
