package part

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/place"
)

// Turn is one turn of a chat: the message and the answer.
type Turn struct {
	ID, Base  string // Base is the path of the chat, like "/s/ab12/c/cd34"
	StartedAt string
	Duration  *int64 // milliseconds; nil while it runs
	Message   ahp.Message
	Parts     []ahp.ResponsePart
	Usage     *ahp.UsageInfo
	State     ahp.TurnState // "" while it runs
	Last      bool          // the newest turn, the only one that can be resumed
	Changes   *ahp.ChangesSummary
	Dir       string // working directory of commands, for approval cards
	Measured         // how much of it pages show
}

// Running reports whether the turn is still running.
func (t *Turn) Running() bool { return t.State == "" }

// isInterruption reports whether a turn was interrupted by a restart of ahphub.
func isInterruption(e ahp.ErrorResponsePart) bool { return e.Error.ErrorType == "interrupted" }

// isLogin reports whether an agent requires a login.
func isLogin(e ahp.ErrorInfo) bool { return e.ErrorType == "login" }

// interrupted reports whether the turn was interrupted by a restart.
func (t *Turn) interrupted() bool {
	if t.State != ahp.TurnStateError || len(t.Parts) == 0 {
		return false
	}
	e, ok := t.Parts[len(t.Parts)-1].Value.(*ahp.ErrorResponsePart)
	return ok && isInterruption(*e)
}

// NotAnswered is the status of a question whose turn was interrupted by a restart.
var NotAnswered = Status{"close", "Not answered", ""}

// leftOpen reports whether the host skipped the call, with a reason, because a restart interrupted
// the turn while the call waited for approval. Such a call stays expanded.
func (t *Turn) leftOpen(c Tool) bool {
	return t.interrupted() && c.Cancelled != nil && c.Cancelled.Reason == ahp.ToolCallCancellationReasonSkipped &&
		c.Cancelled.ReasonMessage != nil
}

// PartID returns the element id of a response part: for tool calls from their own id, for other parts from the part's
// id, or else its index.
func (t *Turn) PartID(i int) string {
	switch v := t.Parts[i].Value.(type) {
	case *ahp.MarkdownResponsePart:
		return "part-" + t.ID + "-" + v.ID
	case *ahp.ReasoningResponsePart:
		return "part-" + t.ID + "-" + v.ID
	case *ahp.ToolCallResponsePart:
		return "tool-" + ToolOf(v.ToolCall).ToolCallID
	case *ahp.InputRequestResponsePart:
		return "ask-" + v.Request.ID
	}
	return "part-" + t.ID + "-" + strconv.Itoa(i)
}

// BlockID returns a short element id for the i-th block of a part: it is in every patch of streamed text.
func BlockID(part string, i int) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(part))
	return "b" + strconv.FormatUint(uint64(h.Sum32()), 36) + "." + strconv.Itoa(i)
}

// Streams reports whether text may still be appended to part i.
func (t *Turn) Streams(i int) bool { return t.Running() && i == len(t.Parts)-1 }

// Text returns the text of a part that streams, and whether it is such a part.
func Text(p ahp.ResponsePart) (string, bool) {
	switch v := p.Value.(type) {
	case *ahp.MarkdownResponsePart:
		return v.Content.String(), true
	case *ahp.ReasoningResponsePart:
		return v.Content.String(), true
	}
	return "", false
}

// Emptied returns a part that streams without its text.
func Emptied(p ahp.ResponsePart) ahp.ResponsePart {
	switch v := p.Value.(type) {
	case *ahp.MarkdownResponsePart:
		return ahp.ResponsePart{Value: &ahp.MarkdownResponsePart{ID: v.ID}}
	case *ahp.ReasoningResponsePart:
		return ahp.ResponsePart{Value: &ahp.ReasoningResponsePart{ID: v.ID}}
	}
	return p
}

func (t *Turn) blocks(i int) []Block {
	text, _ := Text(t.Parts[i])
	return t.Splitter(i).Update(text, !t.Streams(i))
}

// Splitter returns the splitter for the text of part i.
func (t *Turn) Splitter(i int) *Splitter { return &Splitter{Shown: t.excerpt(), Href: t.textHref(i)} }

// Tool is a tool call in any of its states.
type Tool struct {
	ahp.ToolCallBase
	Status     ahp.ToolCallStatus
	Invocation ahp.StringOrMarkdown
	Input      *ahp.ToolInput
	Partial    string
	Pending    *ahp.ToolCallPendingConfirmationState
	Result     *ahp.ToolCallResult
	Content    []ahp.ToolResultContent
	Confirmed  ahp.ToolCallConfirmationReason
	Option     *ahp.ConfirmationOption
	Cancelled  *ahp.ToolCallCancelledState
	Auth       *ahp.McpAuthRequirement
}

// ToolOf converts the state of a tool call.
func ToolOf(s ahp.ToolCallState) Tool {
	switch v := s.Value.(type) {
	case *ahp.ToolCallStreamingState:
		t := Tool{ToolCallBase: v.ToolCallBase, Status: ahp.ToolCallStatusStreaming, Partial: v.PartialInput.String()}
		if v.InvocationMessage != nil {
			t.Invocation = *v.InvocationMessage
		}
		return t
	case *ahp.ToolCallPendingConfirmationState:
		return Tool{ToolCallBase: v.ToolCallBase, Status: ahp.ToolCallStatusPendingConfirmation,
			Invocation: v.InvocationMessage, Input: v.ToolInput, Pending: v}
	case *ahp.ToolCallRunningState:
		return Tool{ToolCallBase: v.ToolCallBase, Status: ahp.ToolCallStatusRunning, Invocation: v.InvocationMessage,
			Input: v.ToolInput, Content: v.Content, Confirmed: v.Confirmed, Option: v.SelectedOption}
	case *ahp.ToolCallAuthRequiredState:
		return Tool{ToolCallBase: v.ToolCallBase, Status: ahp.ToolCallStatusAuthRequired,
			Invocation: v.InvocationMessage, Input: v.ToolInput, Content: v.Content, Confirmed: v.Confirmed,
			Option: v.SelectedOption, Auth: &v.Auth}
	case *ahp.ToolCallPendingResultConfirmationState:
		return Tool{ToolCallBase: v.ToolCallBase, Status: ahp.ToolCallStatusPendingResultConfirmation,
			Invocation: v.InvocationMessage, Input: v.ToolInput, Result: &v.ToolCallResult, Content: v.Content,
			Confirmed: v.Confirmed, Option: v.SelectedOption}
	case *ahp.ToolCallCompletedState:
		return Tool{ToolCallBase: v.ToolCallBase, Status: ahp.ToolCallStatusCompleted, Invocation: v.InvocationMessage,
			Input: v.ToolInput, Result: &v.ToolCallResult, Content: v.Content, Confirmed: v.Confirmed,
			Option: v.SelectedOption}
	case *ahp.ToolCallCancelledState:
		return Tool{ToolCallBase: v.ToolCallBase, Status: ahp.ToolCallStatusCancelled, Invocation: v.InvocationMessage,
			Input: v.ToolInput, Option: v.SelectedOption, Cancelled: v}
	}
	return Tool{Status: "unknown"}
}

// waits reports whether a decision is pending.
func (t Tool) waits() bool {
	return t.Status == ahp.ToolCallStatusPendingConfirmation || t.Status == ahp.ToolCallStatusPendingResultConfirmation
}

func (t Tool) status() Status {
	switch t.Status {
	case ahp.ToolCallStatusStreaming:
		return Status{"running", "Preparing", "run"}
	case ahp.ToolCallStatusPendingConfirmation, ahp.ToolCallStatusPendingResultConfirmation:
		return Status{"need", "Needs you", "need"}
	case ahp.ToolCallStatusRunning:
		return Status{"running", "Running", "run"}
	case ahp.ToolCallStatusAuthRequired:
		return Status{"need", "Sign-in needed", "need"}
	case ahp.ToolCallStatusCancelled:
		return Status{"close", t.cancelWord(), ""}
	case ahp.ToolCallStatusCompleted:
		if !t.Result.Success {
			return Status{"error", "Failed", "bad"}
		}
		return Status{"done", "Done", "good"}
	}
	return Status{"info", "Unknown", ""}
}

func (t Tool) cancelWord() string {
	switch t.Cancelled.Reason {
	case ahp.ToolCallCancellationReasonDenied:
		return "Denied"
	case ahp.ToolCallCancellationReasonResultDenied:
		return "Result denied"
	}
	if t.Cancelled.ReasonMessage != nil {
		return "Not run"
	}
	return "Stopped" // with its turn
}

// line returns the text of a folded tool call.
func (t Tool) line() ahp.StringOrMarkdown {
	switch {
	case t.Result != nil && t.Result.PastTenseMessage.Text != "":
		return t.Result.PastTenseMessage
	case t.Invocation.Text != "":
		return t.Invocation
	case t.Intention != "":
		return ahp.Plain(t.Intention)
	case t.DisplayName != "":
		return ahp.Plain(t.DisplayName)
	}
	return ahp.Plain(t.ToolName)
}

// command returns the input for display: only the command, if the input is nothing else.
func (t Tool) command() string {
	if t.Input == nil {
		return t.Partial
	}
	var one struct {
		Command string `json:"command"`
	}
	if json.Unmarshal([]byte(t.Input.Text), &one) == nil && one.Command != "" {
		return one.Command
	}
	var any map[string]any
	if json.Unmarshal([]byte(t.Input.Text), &any) == nil {
		if b, err := json.MarshalIndent(any, "", "  "); err == nil {
			return string(b)
		}
	}
	return t.Input.Text
}

// raw returns the input for editing.
func (t Tool) raw() string {
	if t.Input == nil {
		return ""
	}
	return t.Input.Text
}

// options returns the host's options, in order; without any, the two basic ones.
func (t Tool) options() []ahp.ConfirmationOption {
	if t.Pending != nil && len(t.Pending.Options) > 0 {
		return t.Pending.Options
	}
	return []ahp.ConfirmationOption{{Label: "Approve", Kind: ahp.ConfirmationOptionKindApprove},
		{Label: "Deny", Kind: ahp.ConfirmationOptionKindDeny}}
}

func (t Tool) title() ahp.StringOrMarkdown {
	if t.Pending != nil && t.Pending.ConfirmationTitle != nil {
		return *t.Pending.ConfirmationTitle
	}
	if t.Status == ahp.ToolCallStatusPendingResultConfirmation {
		return ahp.Plain("May the agent see this result?")
	}
	return ahp.Plain("May " + firstOf(t.DisplayName, t.ToolName) + " run?")
}

// By returns who the host recorded, from its own key of `_meta`.
func By(m ahp.Meta) string {
	var s struct {
		By struct {
			Name string `json:"name"`
		} `json:"by"`
	}
	_ = json.Unmarshal(m["ahphub"], &s) // absent or not ours: ""
	return s.By.Name
}

// Guest returns the name of the person who asked for the turn; "" for the owner.
func (t *Turn) Guest() string {
	var s struct {
		By struct {
			Name string `json:"name"`
			Role string `json:"role"`
		} `json:"by"`
	}
	_ = json.Unmarshal(t.Message.Meta["ahphub"], &s) // absent or not ours: ""
	if s.By.Role == "owner" {
		return ""
	}
	return s.By.Name
}

// member reports whether the person who asked for the turn has an account.
func (t *Turn) member() bool {
	var s struct {
		By struct {
			ID string `json:"id"`
		} `json:"by"`
	}
	_ = json.Unmarshal(t.Message.Meta["ahphub"], &s) // absent or not ours: false
	return strings.HasPrefix(s.By.ID, "person:")
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// Duration formats milliseconds.
func Duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return strconv.FormatInt(ms, 10) + " ms"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// Age formats how long ago a time of the protocol was, in one unit.
func Age(at string, now time.Time) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return ""
	}
	d := now.Sub(t)
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 24*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours())/24) + " d"
}

// FilePath returns the path of a file URI, as on its machine; other URIs are unchanged.
func FilePath(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		return PathThere(u.Path)
	}
	return uri
}

// ProviderThere returns an agent's provider without its machine.
func ProviderThere(provider string) string {
	_, there := place.SplitProvider(provider)
	return there
}

// PathThere returns a path of the hub as on its machine.
func PathThere(path string) string {
	if _, there, err := place.SplitPath(path); err == nil {
		return there
	}
	return path
}

// clock formats a time of the protocol as hours and minutes in UTC; the element has the full time for the script.
func clock(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return ""
	}
	return t.Format("15:04")
}

func value(p *int64) int64 {
	if p == nil {
		return 0
	}
	return *p
}
func isTrue(p *bool) bool { return p != nil && *p }
func lines(s string) int  { return strings.Count(strings.TrimRight(s, "\n"), "\n") + 1 }

// Tail returns the name of a chat or terminal in paths: the end of its URI if it has only plain
// characters, else a hash.
func Tail(uri string) string {
	id := uri[strings.LastIndexByte(uri, '/')+1:]
	if id != "" && strings.Trim(id, plainChars) == "" && strings.Trim(id, ".") != "" {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(uri))
	return "x" + strconv.FormatUint(h.Sum64(), 36)
}

const plainChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// Files formats a number of files: "1 file".
func Files(n int64) string {
	if n == 1 {
		return "1 file"
	}
	return Count(int(n)) + " files"
}

// SideURI returns the URI of the edited file: after the edit, or before if it was deleted.
func SideURI(b, a *ahp.FileEditSide) string {
	if a != nil {
		return a.URI
	}
	if b != nil {
		return b.URI
	}
	return ""
}
