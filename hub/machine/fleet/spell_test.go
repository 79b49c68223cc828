package fleet

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// channels are the protocol's fields with URIs of hub channels, not files.
var channels = map[string]bool{"channel": true, "session": true, "chat": true, "chats": true, "terminal": true,
	"automation": true, "run": true, "sessions": true, "primarySession": true, "defaultChat": true, "after": true,
	"subscriptions": true, "initialSubscriptions": true, "missing": true,
	"logs": true, "traces": true, "metrics": true}

// A field added by a new protocol version must be added to uriFields or channels.
func TestEveryURIOfTheProtocolIsFileOrChannel(t *testing.T) {
	files, err := filepath.Glob("../../ahp/*.go")
	if err != nil || len(files) < 20 {
		t.Fatalf("there are %d files, %v", len(files), err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil || !isURI(field.Type) {
				return true
			}
			name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
			if found++; !uriFields[name] && !channels[name] {
				t.Errorf("%s: %s may hold a URI of a file, and fleet does not know it", filepath.Base(file), name)
			}
			return true
		})
	}
	if found < 100 {
		t.Errorf("only %d fields are URIs", found)
	}
}

func isURI(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return isURI(e.X)
	case *ast.ArrayType:
		return isURI(e.Elt)
	case *ast.Ident:
		return e.Name == "URI"
	}
	return false
}

// spoken has actions and messages with files of a machine, in its spelling. Texts and the input of tools stay
// unchanged.
const spoken = `[
	{"type":"chat/responsePart","turnId":"t","part":{"kind":"contentRef","uri":"file:///src/a%20b"}},
	{"type":"chat/toolCallReady","turnId":"t","toolCallId":"c","invocationMessage":"edits file:///src/a",
		"toolInput":"{\"uri\":\"file:///src/a\"}","edits":{"items":[{
		"before":{"uri":"file:///src/a","content":{"uri":"ahphub-version:/x?path=/src/a"}},
		"after":{"uri":"file:///src/b","content":{"uri":"file:///src/b"}}}]},
		"_meta":{"ahphub":{"directory":"/src/deep","more":1},"other":{"uri":"file:///src"}}},
	{"type":"chat/toolCallComplete","turnId":"t","toolCallId":"c","result":{"success":true,"pastTenseMessage":"x",
		"content":[{"type":"resource","uri":"file:///src/c"},{"type":"text","text":"file:///src/c"},
		{"type":"fileEdit","after":{"uri":"FILE:///src/d","content":{"uri":"file:///src/d"}}},
		{"type":"terminal","resource":"ahp-terminal:/x","title":"t"}]}},
	{"type":"chat/turnsLoaded","turns":[{"id":"t","message":{"text":"file:///src/e","origin":{"kind":"user"},
		"attachments":[{"type":"resource","label":"e","uri":"file:///src/e"}]},"responseParts":[{"kind":"toolCall",
		"toolCall":{"status":"completed","toolCallId":"c","toolName":"n","displayName":"d","invocationMessage":"i",
		"success":true,"pastTenseMessage":"p","confirmed":"not-needed",
		"content":[{"type":"resource","uri":"file:///src/e"}]}}],"state":"complete"}]},
	{"type":"chat/workingDirectorySet","directory":"file:///src"},
	{"type":"chat/delta","turnId":"t","partId":"p","content":"file:///src/f"}
]`

func TestFilesOfActionsAreSpelledBothWays(t *testing.T) {
	const box = "/machines/box"
	var raws []json.RawMessage
	if err := json.Unmarshal([]byte(spoken), &raws); err != nil {
		t.Fatal(err)
	}
	want := []string{`"uri":"file:///machines/box/src/a%20b"`,
		`"before":{"uri":"file:///machines/box/src/a","content":{"uri":"ahphub-version:/x?path=/src/a"}}`,
		`"uri":"file:///machines/box/src/c"},{"type":"text","text":"file:///src/c"}`,
		`"label":"e","uri":"file:///machines/box/src/e"`, `"directory":"file:///machines/box/src"`,
		`"content":"file:///src/f"`}
	for i, raw := range raws {
		a, err := ahp.UnmarshalAction(raw)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := ahp.MarshalAction(a)
		joined := respell(hubward("box"), a)
		got, err := ahp.MarshalAction(joined)
		if err != nil || !strings.Contains(string(got), want[i]) {
			t.Errorf("it is %s, %v; want %s", got, err, want[i])
		}
		if after, _ := ahp.MarshalAction(a); string(after) != string(before) {
			t.Errorf("what was said has changed to %s", after)
		}
		back, _ := ahp.MarshalAction(respell(outward("box"), joined))
		if strings.ReplaceAll(string(before), "FILE:", "file:") != string(back) {
			t.Errorf("the machine reads %s instead of %s", back, before)
		}
		hidden, _ := ahp.MarshalAction(respell(outward("other"), joined))
		if strings.Contains(string(hidden), box) {
			t.Errorf("another machine reads %s", hidden)
		}
	}
	ready := respell(hubward("box"), &ahp.ChatToolCallReadyAction{Meta: ahp.Meta{
		"ahphub": json.RawMessage(`{"directory":"/src/deep","more":1}`)}})
	if string(ready.Meta["ahphub"]) != `{"directory":"/machines/box/src/deep","more":1}` {
		t.Errorf("the directory of a command is %s", ready.Meta["ahphub"])
	}
}
