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
	Properties map[string]struct {
		Const any
	}
	Required []string
}

func TestTypesFollowTheSchema(t *testing.T) {
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

// goStructs reads the package's structs from its source: their JSON names, embedded structs included.
func goStructs(t *testing.T) map[string][]string {
	t.Helper()
	specs := map[string]*ast.StructType{}
	files, _ := filepath.Glob("*.go")
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					specs[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	out := map[string][]string{}
	for name, s := range specs {
		fields := map[string]bool{}
		collect(fields, s, specs)
		out[name] = marked(fields)
	}
	return out
}

func collect(fields map[string]bool, s *ast.StructType, specs map[string]*ast.StructType) {
	for _, f := range s.Fields.List {
		if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 {
			collect(fields, specs[id.Name], specs)
		}
		if f.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
		name, opts, _ := strings.Cut(tag, ",")
		fields[name] = !strings.Contains(opts, "omit")
	}
}
