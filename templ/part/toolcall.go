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

// askID tells the parts of an approval card apart from those of other turns on the same page: agents number their
// calls.
func (t Tool) askID(of Turn) string { return of.ID + "-" + t.ToolCallID }

// Shown is a digest of what an approval card asks for. A form sends it back, so that an answer is never applied to
// something that was not read. A risk assessment may come in later.
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
		return "" // it came as JSON
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// focusable lets the keys y, n and d reach a card that waits.
func (t Tool) focusable() templ.Attributes {
	if !t.waits() {
		return nil
	}
	return templ.Attributes{"tabindex": "0"}
}

// Edits are the files a call would change, or changed.
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

// editsHref is where the changes of a call are drawn; they are others while it waits.
func (t Tool) editsHref(chat string) string {
	return chat + "/edits/" + url.PathEscape(t.ToolCallID) + "?at=" + string(t.Status)
}

// invocation is what the agent says about a call, unless that is the command, which stands below it whole.
func (t Tool) invocation() ahp.StringOrMarkdown {
	if t.Invocation.Text == t.command() || t.namesOnlyEdit() {
		return ahp.StringOrMarkdown{}
	}
	if says, code, ok := strings.Cut(t.Invocation.Text, "\n\n```"); ok && len(t.Edits()) > 0 &&
		strings.Contains(code, "diff\n") {
		return ahp.StringOrMarkdown{Text: says, Markdown: t.Invocation.Markdown} // the changes are drawn whole
	}
	verb, code, ok := strings.Cut(t.Invocation.Text, "`")
	code = texts.OneLine(strings.TrimSuffix(strings.Trim(code, "` "), "…"))
	if ok && len(verb) < 10 && code != "" && strings.HasPrefix(texts.OneLine(t.command()), code) {
		return ahp.StringOrMarkdown{}
	}
	return t.Invocation
}

// namesOnlyEdit reports whether what the agent says about a call is no more than the file it edits, which is drawn.
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

// groupOf is a group's number, 0 for the one that has none: agents put what lasts after what holds once.
func groupOf(o ahp.ConfirmationOption) int64 {
	if o.Group == nil {
		return 0
	}
	return *o.Group
}

// riskWord names an assessment: 1 is safe.
func riskWord(safety float64) string {
	switch {
	case safety >= 0.9:
		return "Low risk."
	case safety >= 0.7:
		return "Some risk."
	}
	return "High risk."
}

// messageBy is who said something: the person the host stamped, else what kind of sender it was.
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

// peek is the start of a text on one line.
func peek(s string) string {
	return texts.ElideRunes(texts.OneLine(texts.CutBytes(s, 400)), 120)
}

// sessionBase is the session's path of a chat's: "/s/ab12" of "/s/ab12/c/cd34".
func sessionBase(chat string) string {
	base, _, _ := strings.Cut(chat, "/c/")
	return base
}

// directory is where a call would run: the host says so where it is not the turn's own.
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

// terminal is the terminal a tool call shows, or nil.
func (c Tool) terminal() *ahp.ToolResultTerminalContent {
	for _, content := range c.Content {
		if t, ok := content.Value.(*ahp.ToolResultTerminalContent); ok {
			return t
		}
	}
	return nil
}

// movable reports whether the turn waits for a command of the shell agent, which can go on without it.
func (c Tool) movable() bool {
	return c.Status == ahp.ToolCallStatusRunning && c.ToolName == "shell" && c.terminal() != nil
}

// exit is the exit status of a call's command; nil while there is none.
func (c Tool) exit() *int64 {
	if t := c.terminal(); t != nil && t.Result != nil {
		return t.Result.ExitCode
	}
	return nil
}

// widestRow is how many characters of a command a row of the inbox shows, wrapped if need be.
const widestRow = 160

// fitsRow reports whether one line says all that an answer to the request needs: a short command, or a file with its
// counts, that the owner's own turn asks for, with nothing to warn of.
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

// isRisky reports whether a finished assessment says more than low risk.
func (c Tool) isRisky() bool {
	if c.Pending == nil || c.Pending.RiskAssessment == nil {
		return false
	}
	v, ok := c.Pending.RiskAssessment.Value.(*ahp.ToolCallRiskAssessmentCompleteState)
	return ok && v.Safety < 0.7
}

// asksToEdit names the one file that a request would edit; "" for other requests.
func (c Tool) asksToEdit(t Turn) string {
	list := c.Edits()
	if len(list) != 1 || c.Result != nil {
		return ""
	}
	return relativeTo(t.Dir, FilePath(SideURI(list[0].Before, list[0].After)))
}

// relativeTo shortens a path below a directory.
func relativeTo(dir, path string) string {
	if dir == "" {
		return path
	}
	return strings.TrimPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// firstDeny is the place of the first option that denies, -1 without one.
func firstDeny(list []ahp.ConfirmationOption) int {
	return slices.IndexFunc(list, func(o ahp.ConfirmationOption) bool { return o.Kind == ahp.ConfirmationOptionKindDeny })
}

// counts sums the lines that a finished call added and removed; ok is false for one that edited nothing.
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

// ran is the command of a call whose line says nothing else; "" for others, as one that continues in the background.
func (c Tool) ran() string {
	if !c.isCommand() || c.Result != nil && c.exit() == nil {
		return ""
	}
	return c.command()
}

// widestCommand is how many characters of a command its line shows for certain.
const widestCommand = 60

// isShownWhole reports whether the line of a call has all of its command.
func (c Tool) isShownWhole() bool {
	cmd := c.ran()
	return cmd != "" && !strings.Contains(strings.TrimSpace(cmd), "\n") && len(cmd) <= widestCommand
}

// edited names the file of a call that changed one.
func (c Tool) edited(t Turn) string {
	if list := c.Edits(); len(list) == 1 && c.Result != nil && c.Result.Success {
		return relativeTo(t.Dir, FilePath(SideURI(list[0].Before, list[0].After)))
	}
	return ""
}

// icon is the picture of what a call does.
func (c Tool) icon() string {
	switch {
	case len(c.Edits()) > 0:
		return "edit"
	case c.isCommand():
		return "terminal"
	}
	return "tool"
}

// startsOpen reports whether a call is open before its reader touches it: a command that runs or failed, and one whose
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

// foldID names what a reader opens and shuts. It changes with the state a call starts in, so that what a reader did before
// there was output does not count.
func (c Tool) foldID(t Turn) string {
	if c.terminal() != nil && c.startsOpen(t) {
		return "fold-terminal-" + c.ToolCallID
	}
	return "fold-" + c.ToolCallID
}

// PlainTerminal is the text of terminal output: escape sequences are dropped, a carriage return starts the line anew.
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

// escapeLen is the length of the escape sequence at the start of s.
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
