package dialect

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/hub/ahp"
)

// bases are definitions that others extend. Their fields are checked in those.
var bases = map[string]bool{
	"BaseParams": true, "PaginatedParams": true, "PaginatedResult": true, "CustomizationBase": true,
	"ContainerCustomizationBase": true, "ChildCustomizationBase": true, "ChatInputQuestionBase": true,
	"MessageAttachmentBase": true, "SessionInputRequestBase": true, "SessionMetadata": true, "ToolCallActionBase": true,
	"ToolCallBase": true, "ToolCallParameterFields": true, "ToolCallPostConfirmationFields": true,
	"ToolCallRiskAssessmentBase": true,
}

// asOthers are definitions that are another type in Go, with the reason.
var asOthers = map[string]string{
	"AhpErrorDetailsMap":         "a list of the data of each error code; each is a type of its own",
	"ChatToolCallApprovedAction": "ChatToolCallConfirmedAction has the fields of both answers",
	"ChatToolCallDeniedAction":   "ChatToolCallConfirmedAction has the fields of both answers",
	"TerminalRunningLifecycle":   "TerminalLifecycleState is one struct of a status and an exit code",
	"TerminalExitedLifecycle":    "TerminalLifecycleState is one struct of a status and an exit code",

	"ChatToolCallConfirmedAction": "one struct with the fields of both answers; reducers look at approved",
	"TerminalLifecycleState":      "one struct of a status and an exit code; an unknown status keeps what came with it",
	"StateAction":                 "an action is looked up in the table of actions",
	"ChatAction":                  "an action is looked up in the table of actions",
}

// otherwise are fields that differ from the schema on purpose, with the reason.
var otherwise = map[string]string{
	"ToolCallAuthRequiredState.contributor": "only an MCP server's call gets there, with it: TestSignInNeedsAnMcpServer",
	"ToolDefinition.inputSchema":            "a JSON Schema of the tool's own, kept as it was sent",
	"ToolDefinition.outputSchema":           "a JSON Schema of the tool's own, kept as it was sent",
}

// Only a call of an MCP server waits for a sign-in, so it has a contributor, which is required
// there.
func TestSignInNeedsAnMcpServer(t *testing.T) {
	for _, by := range []*ahp.ToolCallContributor{nil, {Value: &ahp.ToolCallClientContributor{ClientID: "c"}}} {
		call := &ahp.ToolCallRunningState{ToolCallBase: ahp.ToolCallBase{ToolCallID: "x", Contributor: by}}
		s := &ahp.ChatState{ActiveTurn: &ahp.ActiveTurn{ID: "t", ResponseParts: ahp.NewParts(
			ahp.ResponsePart{Value: &ahp.ToolCallResponsePart{ToolCall: ahp.ToolCallState{Value: call}}})}}
		next := ahp.Reduce(s, &ahp.ChatToolCallAuthRequiredAction{TurnID: "t", ToolCallID: "x"}).(*ahp.ChatState)
		if got, paused := next.ActiveTurn.ResponseParts.Call("x").Value.(*ahp.ToolCallAuthRequiredState); paused {
			t.Errorf("a call of %+v waits for a sign-in: %+v", by, got)
		}
	}
}

// goShapes returns the shape of each Go type of the protocol by name.
func goShapes() map[string]*ahp.Shape {
	out := map[string]*ahp.Shape{}
	all := map[string]*ahp.Shape{}
	for place, s := range shapes {
		all[place] = s
	}
	for i, v := range []any{ahp.ActionEnvelope{}, ahp.ActionOrigin{}, ahp.Snapshot{}, ahp.AuthRequiredErrorData{},
		ahp.PermissionDeniedErrorData{}, ahp.UnsupportedProtocolVersionErrorData{}} {
		all[strconv.Itoa(i)] = ahp.ShapeOf(v)
	}
	seen := map[*ahp.Shape]bool{}
	var add func(s *ahp.Shape)
	add = func(s *ahp.Shape) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		out[s.Name] = s
		for _, v := range s.Variants {
			add(v)
		}
		for _, f := range s.Fields {
			add(f.Of)
		}
	}
	for _, s := range all {
		add(s)
	}
	return out
}

// Every object of the schema of 1.0 has a Go type with exactly its fields, of their kind, and
// required fields are always encoded.
func TestTypesFollowTheSchema(t *testing.T) {
	s, types := spec.Need(t, ahp.Version), goShapes()
	checked := 0
	for _, def := range s.Objects() {
		shape := types[def.Name]
		switch {
		case bases[def.Name] || asOthers[def.Name] != "":
			if shape != nil {
				t.Errorf("%s is listed as having no Go type, and has one", def.Name)
			}
			continue
		case shape == nil:
			t.Errorf("%s has no Go type", def.Name)
			continue
		}
		checked += len(def.Fields)
		for _, fault := range compareFields(def, shape) {
			t.Error(fault)
		}
	}
	if checked < 900 {
		t.Errorf("only %d fields were checked", checked)
	}
}

// compareFields compares a Go type with its definition. A field with a constant is the
// discriminator, which the encoder derives from the type.
func compareFields(def *spec.Type, shape *ahp.Shape) (faults []string) {
	for _, f := range def.Fields {
		name := def.Name + "." + f.Name
		got, ok := shape.Field(f.Name)
		switch {
		case otherwise[name] != "" || !ok && len(f.Type.Enum) == 1:
		case !ok:
			faults = append(faults, name+" has no counterpart")
		case f.Required && got.Optional:
			faults = append(faults, name+" is required, and can be left out")
		case !f.Required && !got.Optional:
			faults = append(faults, name+" is optional, and is always written")
		case !sameKind(f.Type, got):
			faults = append(faults, fmt.Sprintf("%s is %s %s, want %s", name, got.Kind, got.Elem, f.Type.Kind))
		}
	}
	for _, f := range shape.Fields {
		if name := def.Name + "." + f.Name; def.Field(f.Name) == nil && otherwise[name] == "" {
			faults = append(faults, name+" is in no schema")
		}
	}
	return faults
}

// sameKind reports whether a Go field is encoded as the schema says. Counts are whole numbers here,
// because clients decode them as such; the schemas say number.
func sameKind(t *spec.Type, f ahp.ShapeField) bool {
	switch t.Kind {
	case spec.Any:
		return f.Kind == "any"
	case spec.Number:
		return f.Kind == "number" || f.Kind == "integer"
	case spec.Object, spec.Union:
		if t.Kind == spec.Union && t.Discriminator == "" || t.Name == "StateAction" {
			return f.Kind == "any"
		}
		return f.Kind == "object" && (t.Name == "" || f.Of.Name == t.Name)
	case spec.Array:
		return f.Kind == "array" && sameKind(t.Elem, ahp.ShapeField{Kind: f.Elem, Of: f.Of})
	}
	return f.Kind == string(t.Kind)
}

// Every variant of a union of the schema is one of the Go union, under the same value of the discriminator.
func TestUnionsFollowTheSchema(t *testing.T) {
	s, types := spec.Need(t, ahp.Version), goShapes()
	for _, def := range s.Types() {
		shape := types[def.Name]
		if def.Kind != spec.Union || def.Discriminator == "" || asOthers[def.Name] != "" {
			continue
		}
		if shape == nil || shape.Variants == nil {
			t.Errorf("%s is no union in Go", def.Name)
			continue
		}
		for _, v := range def.Variants {
			for _, value := range v.Consts(def.Discriminator) {
				got := shape.Variants[value.(string)]
				if shape.Key != def.Discriminator || got == nil || v.Name != "" && got.Name != v.Name {
					t.Errorf("%s has no %s for %s %v", def.Name, v.Name, def.Discriminator, value)
				}
			}
		}
	}
}

// Every value of an enum of the schema is a constant of the Go type of its name.
func TestEnumsFollowTheSchema(t *testing.T) {
	constants := goConstants(t)
	for _, def := range spec.Need(t, ahp.Version).Types() {
		if def.Enum == nil {
			continue
		}
		for _, value := range def.Enum {
			name := def.Name
			if strings.HasSuffix(name, "ErrorCode") {
				name = "" // the numbers have no type of their own
			}
			if !constants[name][fmt.Sprint(value)] {
				t.Errorf("%s has no constant for %v", def.Name, value)
			}
		}
	}
}

// goConstants returns the values of the constants of each type of package ahp.
func goConstants(t *testing.T) map[string]map[string]bool {
	t.Helper()
	out := map[string]map[string]bool{}
	files, _ := filepath.Glob("../*.go")
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if c, ok := n.(*ast.ValueSpec); ok && len(c.Values) == 1 {
				name := ""
				if id, ok := c.Type.(*ast.Ident); ok {
					name = id.Name
				}
				if out[name] == nil {
					out[name] = map[string]bool{}
				}
				out[name][literal(c.Values[0])] = true
			}
			return true
		})
	}
	return out
}

// literal returns the string or number of an expression, "" for any other.
func literal(e ast.Expr) string {
	if minus, ok := e.(*ast.UnaryExpr); ok && minus.Op == token.SUB {
		return "-" + literal(minus.X)
	}
	l, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	if s, err := strconv.Unquote(l.Value); err == nil {
		return s
	}
	return l.Value
}
