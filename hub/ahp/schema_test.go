package ahp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// changed lists where 1.0 differs from the last published schema, by type: + a field that came, - one that went,
// ? one that became optional, ! one that became required. Each line follows from the written differences between the
// two versions.
var changed = map[string]string{
	"ConfigPropertySchema":                 "+minItems +maxItems",
	"SessionConfigPropertySchema":          "+minItems +maxItems",
	"MultipleWorkingDirectoriesCapability": "+primaryReplacement",
	"InitializeResult":                     "+_meta +automations",
	"AuthenticateParams":                   "+expiresIn",
	"SessionState":                         "+origin",
	"SessionSummary":                       "+origin +chats +defaultChat",
	"McpServerStartingState":               "+blocking",
	"PluginCustomization":                  "-enabled +enablement",
	"ClientPluginCustomization":            "-enabled +enablement +childEnablement",
	"McpServerCustomization":               "-enabled +enablement",
	"SessionCustomizationToggledAction":    "-enabled +enablement",
	"CreateSessionParams":                  "-fork",
	"ChatSummary":                          "+changes +movable",
	"ChatState":                            "+changes +movable +changesets +backgroundWork +canvases",
	"Turn":                                 "-error",
	"ChatErrorAction":                      "-error +part",
	"ChangesetContentChangedAction":        "-error",
	"TerminalInfo":                         "-exitCode +lifecycle",
	"TerminalState":                        "-exitCode +lifecycle",
	"TerminalSessionClaim":                 "+chat",
	"Annotation":                           "-turnId +origin",
	"AnnotationsUpdatedAction":             "-turnId +origin",
	// Discriminators, which follow from the Go type.
	"TerminalCommandPart": "-type", "TerminalUnclassifiedPart": "-type",
	// Always there, but shared with the states where it may be absent.
	"ToolCallAuthRequiredState": "?contributor",
	// The schema lists fields that may be undefined as required; on the wire they are absent.
	"ActionEnvelope": "?origin", "SessionActivityChangedAction": "?activity", "SessionMetaChangedAction": "?_meta",
}

// unmodelled are schema definitions without a Go struct of that name: bases that are written out in the types that
// have them, and unions of two that are one struct here.
var unmodelled = []string{
	"AhpErrorDetailsMap", "BaseParams", "ChatInputQuestionBase", "ChatToolCallApprovedAction", "ChatToolCallDeniedAction",
	"ChildCustomizationBase", "ContainerCustomizationBase", "CustomizationBase", "MessageAttachmentBase", "PaginatedParams",
	"PaginatedResult", "SessionForkSource", "SessionInputRequestBase", "SessionMetadata", "Snapshot", "ToolCallActionBase",
	"ToolCallRiskAssessmentBase",
}

type definition struct {
	Type       string
	Const      any
	Enum       []any
	Ref        string `json:"$ref"`
	OneOf      []definition
	Properties map[string]definition
	Required   []string
}

// kind returns the JSON type values of the definition have, "any" when they may have several.
func (d definition) kind(defs map[string]definition) string {
	switch {
	case d.Type != "":
		return d.Type
	case d.Ref != "":
		return defs[strings.TrimPrefix(d.Ref, "#/$defs/")].kind(defs)
	case d.Properties != nil:
		return "object"
	case len(d.Enum) > 0:
		return kindOf(d.Enum[0])
	case d.Const != nil:
		return kindOf(d.Const)
	case len(d.OneOf) == 0:
		return "any"
	}
	kind := d.OneOf[0].kind(defs)
	for _, one := range d.OneOf {
		if one.kind(defs) != kind {
			return "any"
		}
	}
	return kind
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	}
	return "boolean"
}

func schema(t *testing.T) map[string]definition {
	t.Helper()
	defs := map[string]definition{}
	files, _ := filepath.Glob("../../../shared/ahp/schema/0.8-dev/*.schema.json")
	for _, file := range files {
		var f struct {
			Defs map[string]definition `json:"$defs"`
		}
		read(t, file, &f)
		maps.Copy(defs, f.Defs)
	}
	if len(defs) == 0 {
		if os.Getenv("AHPHUB_REQUIRE_SPEC") == "1" {
			t.Fatal("the schema is required and absent")
		}
		t.Skip("the schema is not here")
	}
	return defs
}

// A field is written as the JSON type the schema gives it.
func TestFieldTypesFollowTheSchema(t *testing.T) {
	defs := schema(t)
	specs := typeSpecs(t)
	checked := 0
	delete(defs["AuthRequiredParams"].Properties, "resource") // the resource's name until 0.7, its description since
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		s, ok := specs[name].(*ast.StructType)
		if !ok || slices.Contains(unmodelled, name) {
			continue
		}
		kinds := map[string]string{}
		fieldKinds(kinds, s, specs)
		for field, got := range kinds {
			property, ok := defs[name].Properties[field]
			if want := property.kind(defs); ok && got != "any" && want != "any" && got != want {
				t.Errorf("%s.%s is written as %s, want %s", name, field, got, want)
			}
			checked++
		}
	}
	if checked < 500 {
		t.Errorf("only %d fields were checked", checked)
	}
}

func fieldKinds(kinds map[string]string, s *ast.StructType, specs map[string]ast.Expr) {
	for _, f := range s.Fields.List {
		if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 {
			fieldKinds(kinds, specs[id.Name].(*ast.StructType), specs)
		}
		if name := jsonName(f); name != "" {
			kinds[name] = goKind(f.Type, specs)
		}
	}
}

// goKind returns the JSON type a Go type is written as.
func goKind(e ast.Expr, specs map[string]ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return goKind(e.X, specs)
	case *ast.ArrayType:
		return "array"
	case *ast.MapType, *ast.StructType:
		return "object"
	case *ast.Ident:
		switch e.Name {
		case "string", "Text":
			return "string"
		case "bool":
			return "boolean"
		case "int64", "float64":
			return "number"
		case "StringOrMarkdown", "ToolInput", "Action":
			return "any"
		case "Parts":
			return "array"
		}
		return goKind(specs[e.Name], specs)
	}
	return "any"
}

func TestTypesFollowTheSchema(t *testing.T) {
	defs := schema(t)
	structs := goStructs(t)
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		def := defs[name]
		if len(def.Properties) == 0 || slices.Contains(unmodelled, name) {
			continue
		}
		got, ok := structs[name]
		if !ok {
			t.Errorf("%s has no Go struct", name)
			continue
		}
		if want := wireFields(name, def); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has the fields\n%s, want\n%s", name, strings.Join(got, " "), strings.Join(want, " "))
		}
	}
}

// wireFields returns the fields 1.0 has, optional ones marked by a question mark, without the discriminator.
func wireFields(name string, def definition) []string {
	fields := map[string]bool{} // name → required
	for p, v := range def.Properties {
		if v.Const == nil {
			fields[p] = slices.Contains(def.Required, p)
		}
	}
	for _, change := range strings.Fields(changed[name]) {
		field := change[1:]
		switch change[0] {
		case '-':
			delete(fields, field)
		case '?':
			fields[field] = false
		case '+':
			fields[field] = slices.Contains([]string{"part", "lifecycle", "chat"}, field) ||
				name == "Annotation" || name == "SessionCustomizationToggledAction"
		}
	}
	return marked(fields)
}

func marked(fields map[string]bool) []string {
	out := []string{}
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		if fields[f] {
			out = append(out, f)
		} else {
			out = append(out, f+"?")
		}
	}
	return out
}

// typeSpecs reads the package's types from its source.
func typeSpecs(t *testing.T) map[string]ast.Expr {
	t.Helper()
	specs := map[string]ast.Expr{}
	files, _ := filepath.Glob("*.go")
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				specs[spec.Name.Name] = spec.Type
			}
			return true
		})
	}
	return specs
}

// goStructs returns the JSON names of each struct's fields, embedded structs included, optional ones marked.
func goStructs(t *testing.T) map[string][]string {
	specs := typeSpecs(t)
	out := map[string][]string{}
	for name, e := range specs {
		if s, ok := e.(*ast.StructType); ok {
			fields := map[string]bool{}
			collect(fields, s, specs)
			out[name] = marked(fields)
		}
	}
	return out
}

func collect(fields map[string]bool, s *ast.StructType, specs map[string]ast.Expr) {
	for _, f := range s.Fields.List {
		if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 {
			collect(fields, specs[id.Name].(*ast.StructType), specs)
		}
		if name := jsonName(f); name != "" {
			fields[name] = !strings.Contains(f.Tag.Value, ",omit")
		}
	}
}

func jsonName(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
	return name
}
