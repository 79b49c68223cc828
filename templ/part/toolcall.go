package part

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

// askID returns an id for elements of an approval card that is unique on the page: agents number their calls.
func (t Tool) askID(of Turn) string { return of.ID + "-" + t.ToolCallID }

// Shown returns a digest of what an approval card shows. The form sends it back, so that an answer
// is never applied to a request that the reader did not see. A risk assessment may be added later.
func (t Tool) Shown() string {
	asks := struct {
		Status     ahp.ToolCallStatus
		ID, Name   string
		Invocation ahp.StringOrMarkdown
		Input      *ahp.ToolInput
		Title      ahp.StringOrMarkdown
		Options    []ahp.ConfirmationOption
		Edits      []ahp.FileEdit
		Content    []ahp.ToolResultContent
	}{t.Status, t.ToolCallID, t.ToolName, t.Invocation, t.Input, t.title(), t.options(), t.Edits(), t.Content}
	b, err := json.Marshal(asks)
	if err != nil {
		return "" // the values came from JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// focusable makes a pending card focusable, for the keys y, n and d.
func (t Tool) focusable() templ.Attributes {
	if !t.waits() {
		return nil
	}
	return templ.Attributes{"tabindex": "0"}
}

// Edits returns the file edits of a call, proposed or made.
func (t Tool) Edits() []ahp.FileEdit {
	if t.Pending != nil && t.Pending.Edits != nil {
		return t.Pending.Edits.Items
	}
	var out []ahp.FileEdit
	for _, c := range t.Content {
		if e, ok := c.Value.(*ahp.ToolResultFileEditContent); ok {
			out = append(out, ahp.FileEdit{Before: e.Before, After: e.After, Diff: e.Diff})
		}
	}
	return out
}

// editsHref returns the address of a call's changes; it differs while the call is pending.
func (t Tool) editsHref(chat string) string {
	return chat + "/edits/" + url.PathEscape(t.ToolCallID) + "?at=" + string(t.Status)
}

// invocation returns the agent's description of a call, unless it repeats the command or the file,
// which are shown anyway.
func (t Tool) invocation() ahp.StringOrMarkdown {
	if t.Invocation.Text == t.command() || t.namesOnlyEdit() {
		return ahp.StringOrMarkdown{}
	}
	if says, code, ok := strings.Cut(t.Invocation.Text, "\n\n```"); ok && len(t.Edits()) > 0 &&
		strings.Contains(code, "diff\n") {
		return ahp.StringOrMarkdown{Text: says, Markdown: t.Invocation.Markdown} // the changes are shown in full
	}
	verb, code, ok := strings.Cut(t.Invocation.Text, "`")
	code = texts.OneLine(strings.TrimSuffix(strings.Trim(code, "` "), "…"))
	if ok && len(verb) < 10 && code != "" && strings.HasPrefix(texts.OneLine(t.command()), code) {
		return ahp.StringOrMarkdown{}
	}
	return t.Invocation
}

// namesOnlyEdit reports whether the agent's description only names the edited file, which is shown anyway.
func (t Tool) namesOnlyEdit() bool {
	list := t.Edits()
	if len(list) != 1 || t.Status != ahp.ToolCallStatusPendingConfirmation {
		return false
	}
	verb, file, ok := strings.Cut(t.Invocation.Text, "`")
	file, more, _ := strings.Cut(file, "`")
	path := FilePath(SideURI(list[0].Before, list[0].After))
	return ok && len(verb) < 10 && more == "" && file != "" && strings.HasSuffix("/"+path, "/"+strings.TrimPrefix(file, "/"))
}

func firstApprove(list []ahp.ConfirmationOption) int {
	best := -1
	for i, o := range list {
		if o.Kind == ahp.ConfirmationOptionKindApprove && (best < 0 || groupOf(o) < groupOf(list[best])) {
			best = i
		}
	}
	return best
}

// groupOf returns an option's group; 0 if it has none. Agents put lasting options after one-time ones.
func groupOf(o ahp.ConfirmationOption) int64 {
	if o.Group == nil {
		return 0
	}
	return *o.Group
}

// riskWord describes a risk assessment: 1 is safe.
func riskWord(safety float64) string {
	switch {
	case safety >= 0.9:
		return "Low risk."
	case safety >= 0.7:
		return "Some risk."
	}
	return "High risk."
}

// messageBy returns the sender of a message: the person recorded by the host, else the kind of sender.
func messageBy(m ahp.Message) string {
	if name := By(m.Meta); name != "" {
		return name
	}
	switch m.Origin.Kind {
	case ahp.MessageKindAgent:
		return "Agent"
	case ahp.MessageKindTool:
		return "Tool"
	case ahp.MessageKindSystemNotification:
		return "System"
	case ahp.MessageKindAutomation:
		return "Automation"
	}
	return "User"
}

// inline renders one line of Markdown without its paragraph.
func inline(s string) string {
	h := strings.TrimSpace(finishedBlock(firstLine(s)))
	if strings.HasPrefix(h, "<p>") && strings.HasSuffix(h, "</p>") {
		return h[3 : len(h)-4]
	}
	return h
}

// peek returns the start of a text on one line.
func peek(s string) string {
	return texts.ElideRunes(texts.OneLine(texts.CutBytes(s, 400)), 120)
}

// sessionBase returns the session's path from a chat's: "/s/ab12" from "/s/ab12/c/cd34".
func sessionBase(chat string) string {
	base, _, _ := strings.Cut(chat, "/c/")
	return base
}

// directory returns where a call would run: the turn's directory, unless the host names another.
func (c Tool) directory(t Turn) string {
	if c.Pending == nil {
		return t.Dir
	}
	var says struct{ Directory string }
	if json.Unmarshal(c.Pending.Meta["ahphub"], &says) != nil || says.Directory == "" {
		return t.Dir
	}
	return PathThere(says.Directory)
}

// terminal returns the terminal of a tool call; nil if it has none.
func (c Tool) terminal() *ahp.ToolResultTerminalContent {
	for _, content := range c.Content {
		if t, ok := content.Value.(*ahp.ToolResultTerminalContent); ok {
			return t
		}
	}
	return nil
}

// movable reports whether the turn waits for a command of the shell agent, which can continue in the background.
func (c Tool) movable() bool {
	return c.Status == ahp.ToolCallStatusRunning && c.ToolName == "shell" && c.terminal() != nil
}

// exit returns the exit status of a call's command; nil while there is none.
func (c Tool) exit() *int64 {
	if t := c.terminal(); t != nil && t.Result != nil {
		return t.Result.ExitCode
	}
	return nil
}

// widestRow is the most characters of a command in a row of the inbox, which may wrap.
const widestRow = 160

// fitsRow reports whether one line shows everything needed to answer the request: a short command, or a file with its
// counts, in the owner's own turn, without warnings.
func (c Tool) fitsRow(t Turn) bool {
	if t.Guest() != "" || c.Status != ahp.ToolCallStatusPendingConfirmation || c.isRisky() || c.directory(t) != t.Dir ||
		hiddenWarning(c.command(), c.Invocation.Text, c.raw(), c.directory(t)) != "" {
		return false
	}
	if len(c.Edits()) > 0 {
		return c.asksToEdit(t) != ""
	}
	cmd := strings.TrimSpace(c.command())
	return cmd != "" && len(cmd) <= widestRow && !strings.Contains(cmd, "\n")
}

// isRisky reports whether a finished assessment means high risk.
func (c Tool) isRisky() bool {
	if c.Pending == nil || c.Pending.RiskAssessment == nil {
		return false
	}
	v, ok := c.Pending.RiskAssessment.Value.(*ahp.ToolCallRiskAssessmentCompleteState)
	return ok && v.Safety < 0.7
}

// asksToEdit returns the only file that a request would edit; "" for other requests.
func (c Tool) asksToEdit(t Turn) string {
	list := c.Edits()
	if len(list) != 1 || c.Result != nil {
		return ""
	}
	return relativeTo(t.Dir, FilePath(SideURI(list[0].Before, list[0].After)))
}

// relativeTo makes a path relative to a directory that contains it.
func relativeTo(dir, path string) string {
	if dir == "" {
		return path
	}
	return strings.TrimPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// firstDeny returns the index of the first denying option; -1 without one.
func firstDeny(list []ahp.ConfirmationOption) int {
	return slices.IndexFunc(list, func(o ahp.ConfirmationOption) bool { return o.Kind == ahp.ConfirmationOptionKindDeny })
}

// counts sums the lines that a finished call added and removed; ok is false if it edited nothing.
func (c Tool) counts() (add, del int64, ok bool) {
	if c.Result == nil || !c.Result.Success {
		return 0, 0, false
	}
	return c.diffCounts()
}

// diffCounts sums the lines that a call's edits add and remove.
func (c Tool) diffCounts() (add, del int64, ok bool) {
	for _, e := range c.Edits() {
		if e.Diff != nil {
			add, del, ok = add+value(e.Diff.Added), del+value(e.Diff.Removed), true
		}
	}
	return add, del, ok
}

// isCommand reports whether a call runs a command.
func (c Tool) isCommand() bool {
	return c.ToolName == "shell" || c.ToolName == "execute" || c.terminal() != nil
}

// ran returns the command of a call whose line shows only the command; "" for others, such as one
// that continues in the background.
func (c Tool) ran() string {
	if !c.isCommand() || c.Result != nil && c.exit() == nil {
		return ""
	}
	return c.command()
}

// widestCommand is how many characters of a command always fit on its line.
const widestCommand = 60

// isShownWhole reports whether the line of a call shows its whole command.
func (c Tool) isShownWhole() bool {
	cmd := c.ran()
	return cmd != "" && !strings.Contains(strings.TrimSpace(cmd), "\n") && len(cmd) <= widestCommand
}

// edited returns the file of a call that changed one file.
func (c Tool) edited(t Turn) string {
	if list := c.Edits(); len(list) == 1 && c.Result != nil && c.Result.Success {
		return relativeTo(t.Dir, FilePath(SideURI(list[0].Before, list[0].After)))
	}
	return ""
}

// icon returns the icon of a call.
func (c Tool) icon() string {
	switch {
	case len(c.Edits()) > 0:
		return "edit"
	case c.isCommand():
		return "terminal"
	}
	return "tool"
}

// startsOpen reports whether a call is expanded at first: a command that runs or failed, or whose
// output ends the turn.
func (c Tool) startsOpen(t Turn) bool {
	if c.terminal() == nil {
		return t.leftOpen(c)
	}
	exit := c.exit()
	return exit == nil || *exit != 0 || t.endsWith(c)
}

// endsWith reports whether a call is the last part of the turn.
func (t *Turn) endsWith(c Tool) bool {
	return len(t.Parts) > 0 && t.PartID(len(t.Parts)-1) == "tool-"+c.ToolCallID
}

// foldID returns the id of the foldable element. It changes with the initial state, so that what a
// reader folded before there was output is ignored.
func (c Tool) foldID(t Turn) string {
	if c.terminal() != nil && c.startsOpen(t) {
		return "fold-terminal-" + c.ToolCallID
	}
	return "fold-" + c.ToolCallID
}

// PlainTerminal converts terminal output to text: it drops escape sequences, and a carriage return restarts the line.
func PlainTerminal(s string) string {
	var out, line strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == 0x1b:
			i += escapeLen(s[i:])
			continue
		case c == '\n':
			out.WriteString(line.String() + "\n")
			line.Reset()
		case c == '\r' && i+1 < len(s) && s[i+1] != '\n':
			line.Reset()
		case c >= 0x20 || c == '\t':
			line.WriteByte(c)
		}
		i++
	}
	return strings.ToValidUTF8(out.String()+line.String(), "\uFFFD")
}

// escapeLen returns the length of the escape sequence at the start of s.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
		}
		return len(s)
	case ']', 'P', '^', '_', 'X':
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return len(s)
	case '(', ')', '#', '%':
		return min(3, len(s))
	}
	return 2
}
