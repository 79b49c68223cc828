package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/jsonrpc"
	"github.com/ahphub/ahphub/hub/texts"
)

const mostText = 64 << 10 // bytes of a call's input, and of each text of its output

// stage is a call's progress.
type stage int

const (
	announced stage = iota // its readiness was not emitted yet
	asking                 // waiting for a decision; updates are emitted afterwards
	running
	over
)

// call is a tool call of the turn.
type call struct {
	id        string // our id: the program's may not suit a page
	title     string
	kind      string
	status    string
	locations []location
	input     json.RawMessage
	output    json.RawMessage
	raw       []toolContent
	changed   bool                    // raw was not emitted yet
	edits     map[string]ahp.FileEdit // the edits made of its diffs
	stage     stage
	waiting   []question
	in        *stream // its chat
	sub       *stream // the sub-agent that works for it
	todo      bool    // it writes the plan, and is not shown itself until begun
}

// question is a request for permission that waits for a decision on a call.
type question struct {
	from    jsonrpc.Message
	options []permissionOption
}

// toolCall merges an update of a call, and emits its progress.
func (r *player) toolCall(s *stream, f *toolFields, content json.RawMessage) error {
	c, err := r.learn(s, f, content)
	if err != nil {
		return err
	}
	return r.advance(c)
}

// learn merges an update into a call's fields; an unknown call begins.
func (r *player) learn(s *stream, f *toolFields, content json.RawMessage) (*call, error) {
	c := r.calls[f.ToolCallID]
	if c == nil || c.stage == over && f.Status != nil && *f.Status == "pending" {
		c = &call{id: ids.New(), kind: "other", in: s}
		r.calls[f.ToolCallID] = c
		c.mergeUpdate(f, content)
		if c.todo = isTodo(f); c.todo {
			return c, nil
		}
		return c, r.begin(c)
	}
	c.mergeUpdate(f, content)
	return c, nil
}

// begin emits the start of a call.
func (r *player) begin(c *call) error {
	c.todo, c.in.part = false, nil
	r.current.Store(c)
	return c.in.emit(&ahp.ChatToolCallStartAction{ToolCallID: c.id, ToolName: c.kind, DisplayName: kinds[c.kind]})
}

func (c *call) mergeUpdate(f *toolFields, content json.RawMessage) {
	if f.Title != nil {
		c.title = *f.Title
	}
	if f.ToolKind != nil && kinds[*f.ToolKind] != "" {
		c.kind = *f.ToolKind
	}
	if f.Status != nil {
		c.status = *f.Status
	}
	if f.Locations != nil {
		c.locations = f.Locations
	}
	if present(f.RawInput) {
		c.input = f.RawInput
	}
	if present(f.RawOutput) {
		c.output = f.RawOutput
	}
	var list []toolContent
	if present(content) && json.Unmarshal(content, &list) == nil {
		c.raw, c.changed = list, true
	}
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// kinds are the protocol's kinds of tools, in words for people.
var kinds = map[string]string{
	"read": "Read", "edit": "Edit", "delete": "Delete", "move": "Move", "search": "Search", "execute": "Run command",
	"think": "Think", "fetch": "Fetch", "switch_mode": "Switch mode", "other": "Tool",
}

// advance emits a call's progress. A call that was only announced waits until it runs or needs a
// permission: a request may follow.
func (r *player) advance(c *call) error {
	if c.todo {
		if shown, err := r.advanceTodo(c); shown || err != nil {
			return err
		}
	}
	done := c.status == "completed" || c.status == "failed"
	if c.stage == announced && (done || c.status == "in_progress" || c.has("terminal")) {
		ready := r.ready(c)
		ready.Confirmed = ahp.ToolCallConfirmationReasonNotNeeded
		if err := c.in.emit(ready); err != nil {
			return err
		}
		c.stage = running
	}
	if c.stage != running {
		return nil
	}
	if done {
		c.stage = over
		if c.sub != nil {
			c.sub.close(c.failure())
		}
		return c.in.emit(&ahp.ChatToolCallCompleteAction{ToolCallID: c.id, Result: r.result(c)})
	}
	if !c.changed {
		return nil
	}
	c.changed = false
	return c.in.emit(&ahp.ChatToolCallContentChangedAction{ToolCallID: c.id, Content: agent.Results(r.contents(c)...)})
}

// failure returns the error with which the turn of a call's sub-agent ends.
func (c *call) failure() error {
	if c.status == "failed" {
		return errCallFailed
	}
	return nil
}

func (c *call) has(content string) bool {
	return slices.ContainsFunc(c.raw, func(t toolContent) bool { return t.Type == content })
}

// ready returns the readiness of a call.
func (r *player) ready(c *call) *ahp.ChatToolCallReadyAction {
	a := &ahp.ChatToolCallReadyAction{ToolCallID: c.id, InvocationMessage: ahp.Markdown(r.describeCall(c))}
	if in := c.readable(); in != "" && !c.has("diff") { // the message contains the change itself
		a.ToolInput = &ahp.ToolInput{Text: in}
	}
	return a
}

// describeCall returns a call's title, location and changes.
func (r *player) describeCall(c *call) string {
	text := r.name(c)
	var places []string
	for _, l := range c.locations {
		place := r.relative(l.Path)
		if !strings.Contains(text, place) && len(places) < 10 {
			if l.Line != nil {
				place += fmt.Sprintf(":%d", *l.Line)
			}
			places = append(places, agent.Code(place))
		}
	}
	if len(places) > 0 {
		text += " in " + strings.Join(places, ", ")
	}
	for _, t := range c.raw {
		if t.Type == "diff" {
			text += "\n\n" + agent.CodeBlock("diff", unified(r.relative(t.Path), value(t.OldText), t.NewText))
		}
	}
	return text
}

// name returns a call's title. Some programs send only the path.
func (r *player) name(c *call) string {
	title := strings.TrimSpace(c.title)
	for _, l := range c.locations {
		if title == l.Path || "/"+title == l.Path {
			return kinds[c.kind] + " " + agent.Code(r.relative(l.Path))
		}
	}
	return cmp.Or(title, kinds[c.kind])
}

func (r *player) relative(path string) string {
	if rel, err := filepath.Rel(r.s.dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// readable returns a call's input for people: a command line, or else JSON.
func (c *call) readable() string {
	if !present(c.input) {
		return ""
	}
	var in struct{ Command json.RawMessage }
	if c.kind == "execute" && json.Unmarshal(c.input, &in) == nil && present(in.Command) {
		var line string
		var words []string
		if json.Unmarshal(in.Command, &line) == nil {
			return texts.ElideBytes(line, mostText)
		}
		if json.Unmarshal(in.Command, &words) == nil {
			return texts.ElideBytes(strings.Join(words, " "), mostText)
		}
	}
	return texts.ElideBytes(indented(c.input), mostText)
}

func indented(raw json.RawMessage) string {
	if s := string(raw); s == "{}" || s == "[]" {
		return ""
	}
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// result returns a call's final result.
func (r *player) result(c *call) ahp.ToolCallResult {
	contents := r.contents(c)
	if len(contents) == 0 {
		if out := readableOutput(c.output); out != "" {
			contents = append(contents, &ahp.ToolResultTextContent{Text: texts.ElideBytes(out, mostText)})
		}
	}
	done := ahp.ToolCallResult{Success: c.status == "completed", PastTenseMessage: ahp.Markdown(r.name(c)),
		Content: agent.Results(contents...)}
	if !done.Success {
		done.Error = &ahp.ToolCallError{Message: "the tool call failed"}
	}
	return done
}

func readableOutput(raw json.RawMessage) string {
	if !present(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct{ Output string }
	if json.Unmarshal(raw, &o) == nil && o.Output != "" {
		return o.Output
	}
	return indented(raw)
}
