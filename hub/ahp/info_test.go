package ahp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestEveryActionHasItsRow(t *testing.T) {
	rows := map[string]ActionInfo{} // by Go type
	clients := 0
	for _, info := range Actions() {
		if other, twice := rows[reflect.TypeOf(info.New()).Elem().Name()]; twice {
			t.Errorf("%s and %s share a Go type", info.Type, other.Type)
		}
		rows[reflect.TypeOf(info.New()).Elem().Name()] = info
		if info.Dispatchable {
			clients++
		}
		if prefix, _, _ := strings.Cut(info.Type, "/"); prefix != string(info.Channel) {
			t.Errorf("%s is an action of the channel %s", info.Type, info.Channel)
		}
		if info.Merge == "" || info.reduce == nil {
			t.Errorf("%s has an incomplete row: %+v", info.Type, info)
		}
	}
	if len(rows) != 106 || clients != 47 {
		t.Errorf("the protocol has 106 actions, 47 of them for clients; the table has %d and %d", len(rows), clients)
	}
	for _, name := range declaredActions(t) {
		if _, ok := rows[name]; !ok {
			t.Errorf("%s has no row in the table of actions", name)
		}
	}
}

// declaredActions returns the names of the package's …Action structs.
func declaredActions(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && strings.HasSuffix(spec.Name.Name, "Action") {
				if _, isStruct := spec.Type.(*ast.StructType); isStruct && spec.Name.Name != "UnknownAction" {
					names = append(names, spec.Name.Name)
				}
			}
			return true
		})
	}
	return names
}

// Only root/configChanged may come from a client on the root channel, and all of annotations may; a
// terminal's content comes from its program (AHP requirements 62, 159 and 164).
func TestDispatchableActions(t *testing.T) {
	for _, info := range Actions() {
		switch info.Channel {
		case ChannelRoot:
			if info.Dispatchable != (info.Type == "root/configChanged") {
				t.Errorf("%s: dispatchable %v", info.Type, info.Dispatchable)
			}
		case ChannelAnnotations:
			if !info.Dispatchable {
				t.Errorf("clients cannot send %s", info.Type)
			}
		}
	}
	for _, server := range []string{"terminal/data", "chat/delta", "session/defaultChatChanged", "automation/set"} {
		if i, _ := Info(server); i.Dispatchable {
			t.Errorf("clients may send %s", server)
		}
	}
}

func TestEventsReachSubscribersWithoutAChange(t *testing.T) {
	for _, info := range Actions() {
		want := info.Type == "terminal/data" || info.Type == "terminal/input" || info.Type == "resourceWatch/changed"
		if info.Event != want {
			t.Errorf("%s: event %v", info.Type, info.Event)
		}
	}
}

func TestEveryVariantHasADiscriminator(t *testing.T) {
	twoKinds := map[string]bool{"ChatInputNumberQuestion": true, "ChatInputAnswered": true}
	for wrapper, u := range unionKinds {
		if wrapper.NumField() != 1 || wrapper.Field(0).Name != "Value" {
			t.Errorf("%s is not a wrapper of one Value", wrapper)
		}
		unknown := reflect.TypeFor[*UnknownVariant]()
		if !unknown.Implements(wrapper.Field(0).Type) {
			t.Errorf("%s cannot hold an unknown variant", wrapper)
		}
		for kind, v := range u.types {
			if _, ok := discriminators[v]; ok == twoKinds[v.Name()] {
				t.Errorf("%s, kind %q of %s: discriminator in front %v", v, kind, wrapper, ok)
			}
		}
	}
}
