package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/hub/review"
)

type listInput struct {
	Status string `json:"status,omitempty" jsonschema:"which comments: open (the default), resolved, or all"`
	File   string `json:"file,omitempty" jsonschema:"only comments on this file, as a path relative to the session's directory"`
	Offset int    `json:"offset,omitempty" jsonschema:"how many to skip, to read on after a page of 50"`
}

type getInput struct {
	ID string `json:"id" jsonschema:"the comment's id, as list_comments gives it"`
}

type addInput struct {
	File       string  `json:"file" jsonschema:"path relative to the session's directory"`
	Line       int     `json:"line,omitempty" jsonschema:"first line the comment is about, counting from 1; leave it out to comment on the whole file"`
	EndLine    int     `json:"end_line,omitempty" jsonschema:"last line, included; leave it out for one line"`
	Side       string  `json:"side,omitempty" jsonschema:"after (the default) for the file as it is now, before for the file as it was when the session began, such as for lines that were removed"`
	Text       string  `json:"text" jsonschema:"what to say, in Markdown"`
	Suggestion *string `json:"suggestion,omitempty" jsonschema:"text to put in place of exactly these lines; people apply it with a click; an empty one removes the lines"`
}

type replyInput struct {
	ID   string `json:"id" jsonschema:"the comment's id, as list_comments gives it"`
	Text string `json:"text" jsonschema:"what to answer, in Markdown"`
}

type resolveInput struct {
	ID   string `json:"id" jsonschema:"the comment's id, as list_comments gives it"`
	Text string `json:"text,omitempty" jsonschema:"an answer to add first, such as what was changed"`
}

type reopenInput struct {
	ID   string `json:"id" jsonschema:"the comment's id, as list_comments gives it"`
	Text string `json:"text,omitempty" jsonschema:"an answer to add first, such as why it is not done yet"`
}

func (n *session) addComments() {
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: ahp.Ptr(false)}
	writes := &mcp.ToolAnnotations{DestructiveHint: ahp.Ptr(false), OpenWorldHint: ahp.Ptr(false)}
	again := &mcp.ToolAnnotations{DestructiveHint: ahp.Ptr(false), IdempotentHint: true, OpenWorldHint: ahp.Ptr(false)}
	tool(n, "list_comments", "List review comments", reads, n.list,
		"List the review comments of this session with their ids, files and lines (where those lines are now). Open "+
			"ones unless asked otherwise.")
	tool(n, "get_comment", "Read a review comment", reads, n.get,
		"Read one review comment whole: the lines it quotes and every answer.")
	tool(n, "add_comment", "Comment on lines", writes, n.add,
		"Start a review comment on lines of a file, for the people who review this session. A suggestion is offered "+
			"to them as a change they can apply.")
	tool(n, "reply_to_comment", "Answer a review comment", writes, n.reply,
		"Answer a review comment. The answer shows in its thread at once.")
	tool(n, "resolve_comment", "Resolve a review comment", again, n.resolve,
		"Mark a review comment as dealt with, when what it asks for is done. Optionally answer it first.")
	tool(n, "reopen_comment", "Reopen a review comment", again, n.reopen,
		"Open a resolved review comment again. Optionally answer it first.")
}

// tool adds a tool of the host; its input is checked against the schema of In.
func tool[In any](n *session, name, title string, hints *mcp.ToolAnnotations,
	f func(context.Context, In) (string, error), about string) {
	n.own = append(n.own, name)
	mcp.AddTool(n.server, &mcp.Tool{Name: name, Title: title, Description: about, Annotations: hints},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			return n.call(ctx, func(ctx context.Context) (*mcp.CallToolResult, error) {
				said, err := f(ctx, in)
				return n.text(said), err
			}), nil, nil
		})
}

// thread returns a comment by its id.
func (n *session) thread(ctx context.Context, id string) (ahp.Annotation, error) {
	all, err := n.box.Threads(ctx)
	if err != nil {
		return ahp.Annotation{}, err
	}
	i := slices.IndexFunc(all, func(a ahp.Annotation) bool { return a.ID == id })
	if i < 0 {
		return ahp.Annotation{}, host.Refusal(
			"this session has no comment with this id. list_comments returns the ids there are")
	}
	return all[i], nil
}

func (n *session) add(ctx context.Context, in addInput) (string, error) {
	side, err := sideOf(in.Side)
	if err != nil {
		return "", err
	}
	f, err := n.box.File(ctx, in.File, side == before)
	if err != nil {
		return "", err
	}
	r, quote, err := quoteOf(f, in)
	if err != nil {
		return "", err
	}
	text, err := textOf(in, quote)
	if err != nil {
		return "", err
	}
	own, err := json.Marshal(map[string]string{"side": side, "hunk": quote, "version": f.Version})
	if err != nil {
		return "", err
	}
	a := ahp.Annotation{ID: ids.New(), Resource: f.URI, Range: r, Origin: n.box.Origin(),
		Entries: []ahp.AnnotationEntry{{ID: ids.New(), Text: ahp.Markdown(text), Meta: ahp.Meta{"ahphub": own}}}}
	if err := n.box.Annotate(ctx, &ahp.AnnotationsSetAction{Annotation: a}); err != nil {
		return "", err
	}
	return "Commented on " + n.place(&a) + ". Its id is " + a.ID + ".", nil
}

func (n *session) reply(ctx context.Context, in replyInput) (string, error) {
	t, err := n.thread(ctx, in.ID)
	if err != nil {
		return "", err
	}
	return "Answered.", n.say(ctx, t.ID, in.Text)
}

func (n *session) say(ctx context.Context, thread, text string) error {
	if strings.TrimSpace(text) == "" {
		return host.Refusal("the text is empty. Write something")
	}
	return n.box.Annotate(ctx, &ahp.AnnotationsEntrySetAction{AnnotationID: thread,
		Entry: ahp.AnnotationEntry{ID: ids.New(), Text: ahp.Markdown(text)}})
}

func (n *session) resolve(ctx context.Context, in resolveInput) (string, error) {
	return n.settle(ctx, in.ID, in.Text, true)
}

func (n *session) reopen(ctx context.Context, in reopenInput) (string, error) {
	return n.settle(ctx, in.ID, in.Text, false)
}

func (n *session) settle(ctx context.Context, id, text string, resolved bool) (string, error) {
	t, err := n.thread(ctx, id)
	if err != nil {
		return "", err
	}
	if text != "" {
		if err := n.say(ctx, id, text); err != nil {
			return "", err
		}
	}
	if t.Resolved != resolved {
		if err := n.box.Annotate(ctx, &ahp.AnnotationsUpdatedAction{AnnotationID: id,
			Resolved: &resolved}); err != nil {
			return "", err
		}
	}
	if resolved {
		return "Resolved.", nil
	}
	return "Open again.", nil
}

const (
	before = "before"
	after  = "after"
)

func sideOf(s string) (string, error) {
	switch s {
	case "", after:
		return after, nil
	case before:
		return before, nil
	}
	return "", host.Refusal("side is before or after")
}

// quoteOf returns the commented lines of the file; none for the whole file.
func quoteOf(f host.File, in addInput) (*ahp.TextRange, string, error) {
	lines := review.Lines(f.Text)
	last := max(in.Line, in.EndLine)
	switch {
	case in.Line == 0 && in.EndLine == 0:
		return nil, "", nil
	case f.Binary:
		return nil, "", host.Refusal("this file is not text. Leave the line out to comment on the whole file")
	case in.Line < 1 || in.EndLine != 0 && in.EndLine < in.Line:
		return nil, "", host.Refusal("lines count from 1, and end_line is not before line")
	case last > len(lines):
		return nil, "", refusef("this file has %d lines on that side: read it again", len(lines))
	}
	end := ahp.TextPosition{Line: int64(last - 1), Character: width(lines[last-1])}
	return &ahp.TextRange{Start: ahp.TextPosition{Line: int64(in.Line - 1)}, End: end},
		strings.Join(lines[in.Line-1:last], "\n"), nil
}

// textOf adds a suggestion to the text, in the block that pages can apply.
func textOf(in addInput, quote string) (string, error) {
	text := strings.TrimSpace(in.Text)
	if in.Suggestion == nil {
		return text, nil
	}
	switch {
	case in.Line == 0:
		return "", host.Refusal("a suggestion needs the lines that it replaces. Give line and end_line")
	case in.Side == before:
		return "", host.Refusal("a suggestion replaces lines of the current file. Use the side after")
	case strings.TrimSuffix(*in.Suggestion, "\n") == quote:
		return "", host.Refusal("the suggestion matches these lines already")
	}
	return strings.TrimSpace(text + "\n\n" + block("suggestion", *in.Suggestion)), nil
}
