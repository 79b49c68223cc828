package host

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// AHP requirement 119.
func TestCompletions(t *testing.T) {
	c := newChanging(t)
	for _, dir := range []string{"src/deep", "ignored"} {
		c.must(os.MkdirAll(filepath.Join(c.dir, dir), 0o755))
	}
	for name, text := range map[string]string{"src/main.go": "x", "src/deep/remain.go": "x", "ignored/main.go": "x",
		".gitignore": "ignored\n"} {
		c.write(name, text)
	}
	for _, test := range []struct {
		text   string
		offset int64
		want   string // the texts to insert
		from   int64
	}{
		{"look at @main", 13, "@src/main.go @src/deep/remain.go", 8},
		{"@SRC/", 5, "@src/main.go @src/deep/remain.go", 0},
		{"😀 @a.t and", 7, "@a.txt", 3}, // in UTF-16 code units
		{"😀 @a.t and", 11, "", 0},
		{"mail@a.t", 8, "", 0},
		{"nothing", 7, "", 0},
		{"@nowhere", 8, "", 0},
	} {
		res, err := c.host.Completions(t.Context(), c.owner, ahp.CompletionsParams{Channel: c.chat(),
			Kind: "userMessage", Text: test.text, Offset: test.offset})
		c.must(err)
		var got []string
		for _, i := range res.Items {
			got = append(got, strings.TrimSpace(i.InsertText))
			if *i.RangeStart != test.from || *i.RangeEnd != test.offset {
				t.Errorf("%q: replaces %d to %d", test.text, *i.RangeStart, *i.RangeEnd)
			}
		}
		if d := cmp.Diff(test.want, strings.Join(got, " ")); d != "" || res.Items == nil {
			t.Errorf("%q at %d: %s", test.text, test.offset, d)
		}
	}
	res, err := c.host.Completions(t.Context(), c.owner, ahp.CompletionsParams{Channel: c.chat(), Kind: "userMessage",
		Text: "@a.txt", Offset: 6})
	c.must(err)
	if a, ok := res.Items[0].Attachment.Value.(*ahp.MessageResourceAttachment); !ok ||
		a.URI != core.FileURI(filepath.Join(c.dir, "a.txt")) || a.Label != "a.txt" {
		t.Errorf("the attachment is %+v", res.Items[0].Attachment.Value)
	}
}

func TestCompletionsAreRefused(t *testing.T) {
	c := newChanging(t)
	ask := ahp.CompletionsParams{Channel: c.chat(), Kind: "userMessage", Text: "@a"}
	for _, test := range []struct {
		name    string
		caller  core.Caller
		channel ahp.URI
		offset  int64
		code    int
	}{
		{"outside of the text", c.owner, ask.Channel, 3, ahp.CodeInvalidParams},
		{"before the text", c.owner, ask.Channel, -1, ahp.CodeInvalidParams},
		{"no chat", c.owner, "ahp-chat:/none", 2, ahp.CodeNotFound},
		{"a session", c.owner, session, 2, 0},
		{"a viewer", core.Caller{Principal: viewer}, ask.Channel, 2, ahp.CodePermissionDenied},
		{"a driver", core.Caller{Principal: driver}, ask.Channel, 2, 0},
	} {
		ask.Channel, ask.Offset = test.channel, test.offset
		_, err := c.host.Completions(t.Context(), test.caller, ask)
		known, _ := errors.AsType[*ahp.Error](err)
		if (known == nil) != (test.code == 0) || known != nil && known.Code != test.code {
			t.Errorf("%s: got %v, want code %d", test.name, err, test.code)
		}
	}
}

// The _meta of a completion's attachment is kept in the message.
func TestAttachmentsKeepTheirMeta(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.create()
		meta := ahp.Meta{"agent/ref": json.RawMessage(`{"line":7}`)}
		c.do(w.chat(), &ahp.ChatTurnStartedAction{TurnID: "t", StartedAt: "2026-01-02T03:04:05.000Z",
			Message: ahp.Message{Text: "@a", Origin: ahp.MessageOrigin{Kind: "user"},
				Attachments: []ahp.MessageAttachment{{Value: &ahp.MessageResourceAttachment{Label: "a",
					URI: "file:///a", Meta: meta}}}}})
		a, ok := w.agent.turns[0].Message.Attachments[0].Value.(*ahp.MessageResourceAttachment)
		if !ok || cmp.Diff(meta, a.Meta) != "" {
			t.Errorf("the agent got %+v", w.agent.turns[0].Message.Attachments)
		}
	})
}

func TestSessionConfigCompletions(t *testing.T) {
	inWorld(t, func(w *world) {
		ask := func(property, query string) (ahp.SessionConfigCompletionsResult, error) {
			return w.host.SessionConfigCompletions(w.t.Context(), core.Caller{Principal: owner},
				ahp.SessionConfigCompletionsParams{Property: property, Query: query})
		}
		for query, want := range map[string][]ahp.SessionConfigValueItem{
			"": {{Value: "ask", Label: "ask"}, {Value: "auto", Label: "auto"}}, "AU": {{Value: "auto", Label: "auto"}},
			"x": {},
		} {
			got, err := ask("approval", query)
			if d := cmp.Diff(want, got.Items); d != "" || err != nil {
				t.Errorf("%q: %v %s", query, err, d)
			}
		}
		if _, err := ask("later", ""); err == nil {
			t.Error("an unknown setting has values")
		}
	})
}
