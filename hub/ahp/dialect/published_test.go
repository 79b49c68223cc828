package dialect

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Every field that a version has in a state or an action, at any depth, survives the conversion to
// the current types and back. Lost fields have a reason.
func TestFieldsOfEveryVersionSurvive(t *testing.T) {
	lost := map[string]bool{}
	for _, version := range spec.Versions() {
		s, d := spec.Need(t, version), of(t, version)
		checked, seen := 0, map[*spec.Type]bool{}
		for kind, state := range s.States() {
			through := func(raw []byte) ([]byte, bool) { return throughState(d, ahp.ChannelKind(kind), raw) }
			checked += survive(t, version, spots(state, map[*spec.Type]bool{}), through, lost)
		}
		for _, a := range s.Actions() {
			if alternatives[a.Type] != "" {
				continue // refused, with an error that says what to do
			}
			through := func(raw []byte) ([]byte, bool) { return throughAction(d, raw) }
			checked += survive(t, version, spots(a.Object, seen), through, lost) // in actions, each object once
		}
		if checked < 700 {
			t.Errorf("%s: only %d fields were checked", version, checked)
		}
	}
	for name, why := range lossy {
		if !lost[name] {
			t.Errorf("%s is listed as lost (%s), and survives", name, why)
		}
	}
}

// spot is an object somewhere in a value: how to build a value around it, and how to find it again.
type spot struct {
	root string
	typ  *spec.Type
	wrap func(any) any
	path []string
}

// trip converts a value to the current types and back; false if it is refused.
type trip func([]byte) ([]byte, bool)

// survive converts a value with each field of each spot through a dialect and back.
func survive(t *testing.T, version string, all []spot, through trip, lost map[string]bool) (n int) {
	t.Helper()
	for _, at := range all {
		if n += len(at.typ.Fields); surviveTogether(t, at, through) {
			continue
		}
		for _, f := range at.typ.Fields {
			name := at.nameOf(f)
			value := least(f.Type, f.Name, 0)
			raw, err := encode(at.wrap(with(at.typ, f, value)))
			must(t, err)
			out, ok := through(raw)
			got := "nothing"
			if ok {
				got = find(t, out, append(slices.Clone(at.path), f.Name))
			}
			want, err := encode(value)
			must(t, err)
			if got == string(want) || same(t, got, want) {
				continue
			}
			if lossy[version+" "+name] != "" {
				name = version + " " + name
			}
			if lossy[name] == "" {
				t.Errorf("%s: %s of\n%s\nis %s, want %s", version, name, raw, got, want)
			}
			lost[name] = true
		}
	}
	return n
}

// surviveTogether converts one value with all fields of a spot. If any field is lost, each is tried
// alone.
func surviveTogether(t *testing.T, at spot, through trip) bool {
	t.Helper()
	o := object{}
	for _, f := range at.typ.Fields {
		for name, v := range with(at.typ, f, least(f.Type, f.Name, 0)) {
			o[name] = v
		}
	}
	raw, err := encode(at.wrap(o))
	must(t, err)
	out, ok := through(raw)
	for _, f := range at.typ.Fields {
		if !ok {
			return false
		}
		want, err := encode(o[f.Name])
		must(t, err)
		ok = same(t, find(t, out, append(slices.Clone(at.path), f.Name)), want)
	}
	return ok
}

// nameOf names a field by its object; if the object has no name, by its path.
func (at spot) nameOf(f *spec.Field) string {
	if at.typ.Name != "" {
		return at.typ.Name + "." + f.Name
	}
	return at.root + " " + strings.Join(at.path, ".") + "." + f.Name
}

func same(t *testing.T, got string, want []byte) bool {
	t.Helper()
	var a, b any
	return json.Unmarshal([]byte(got), &a) == nil && json.Unmarshal(want, &b) == nil && reflect.DeepEqual(a, b)
}

// find returns the value at a path as JSON.
func find(t *testing.T, raw []byte, path []string) string {
	t.Helper()
	v, err := decode(raw)
	must(t, err)
	for _, key := range path {
		switch w := v.(type) {
		case []any:
			if len(w) == 0 {
				return "nothing"
			}
			v = w[len(w)-1]
		case object:
			if w[key] == nil {
				return "nothing"
			}
			v = w[key]
		}
	}
	b, err := encode(v)
	must(t, err)
	return string(b)
}

// spots returns the objects that a value of the root may contain, each type once, without those in
// seen.
func spots(root *spec.Type, seen map[*spec.Type]bool) (out []spot) {
	queue := []spot{{root.Name, root, func(v any) any { return v }, nil}}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		wrap := at.wrap
		switch at.typ.Kind {
		case spec.Array:
			listed := func(v any) any { return wrap([]any{v}) }
			queue = append(queue, spot{root.Name, at.typ.Elem, listed, append(slices.Clone(at.path), "0")})
		case spec.Map:
			keyed := func(v any) any { return wrap(object{"k": v}) }
			queue = append(queue, spot{root.Name, at.typ.Elem, keyed, append(slices.Clone(at.path), "k")})
		case spec.Union:
			for _, v := range at.typ.Variants {
				queue = append(queue, spot{root.Name, v, wrap, at.path})
			}
		case spec.Object:
			if seen[at.typ] {
				continue
			}
			seen[at.typ] = true
			out = append(out, at)
			for _, f := range at.typ.Fields {
				if why := lossy[at.nameOf(f)]; why != "" && !strings.HasPrefix(why, "in part: ") {
					continue
				}
				typ := f.Type
				if at.typ.Name == "SessionToolClientExecutionRequest" && f.Name == "toolCall" &&
					typ.Kind == spec.Union {
					typ = running(typ)
				}
				whole := func(v any) any { return wrap(with(at.typ, f, v)) }
				queue = append(queue, spot{root.Name, typ, whole, append(slices.Clone(at.path), f.Name)})
			}
		}
	}
	return out
}

// running returns the one variant of a tool call that a client is asked to execute, according to
// the type since 0.9.
func running(union *spec.Type) *spec.Type {
	i := slices.IndexFunc(union.Variants, func(v *spec.Type) bool { return v.Name == "ToolCallRunningState" })
	return union.Variants[i]
}

// with returns an object with a field, and other fields that it depends on.
func with(typ *spec.Type, f *spec.Field, v any) object {
	o := least(typ, "", 0).(object)
	switch typ.Name + "." + f.Name {
	case "Turn.error": // of a turn that failed
		o["state"] = "error"
	case "ChatState.inputRequests": // of a turn that waits for them
		o["activeTurn"] = least(typ.Field("activeTurn").Type, "", 0)
	}
	o[f.Name] = v
	return o
}

// least returns a value of a type with the required fields only, and one element in each list.
func least(t *spec.Type, field string, depth int) any {
	switch {
	case len(t.Enum) > 0:
		return t.Enum[0]
	case t.Bits != nil:
		return json.Number("8")
	}
	switch t.Kind {
	case spec.String:
		if strings.HasSuffix(field, "At") {
			return "2026-01-02T03:04:05.000Z"
		}
		return "x"
	case spec.Integer, spec.Number:
		return json.Number("7")
	case spec.Boolean:
		return true
	case spec.Array:
		if depth > 8 {
			return []any{}
		}
		return []any{least(t.Elem, field, depth+1)}
	case spec.Map:
		return object{"k": least(t.Elem, field, depth+1)}
	case spec.Union:
		return least(t.Variants[0], field, depth+1)
	case spec.Object:
		o := object{}
		for _, f := range t.Fields {
			if f.Required {
				o[f.Name] = least(f.Type, f.Name, depth+1)
			}
		}
		return o
	}
	return "any"
}

const (
	noSummaryInState = "a session's state has neither its times, its name nor its counts any more: lists have them"
	noEncryption     = "gone since 0.7.0, and nobody used it: a token is sent as it is"
)

// lossy are a version's fields that this program does not keep, with the reason.
var lossy = map[string]string{
	"ChangesetContentChangedAction.error":        noErrorInContent,
	"0.4.0 ChatState.activity":                   "no action changes it before 0.5.0: it would stay for ever",
	"ChatState.agent":                            noSessionModel,
	"ChatState.model":                            noSessionModel,
	"ChatSummary.agent":                          noSessionModel,
	"ChatSummary.model":                          noSessionModel,
	"SessionChatUpdatedAction changes.agent":     noSessionModel,
	"SessionChatUpdatedAction changes.model":     noSessionModel,
	"SessionSummary.agent":                       noSessionModel,
	"SessionSummary.model":                       noSessionModel,
	"SessionState.summary":                       "in part: " + noSummaryInState,
	"SessionSummary.changes":                     noSummaryInState,
	"SessionSummary.createdAt":                   noSummaryInState,
	"SessionSummary.modifiedAt":                  noSummaryInState,
	"SessionSummary.resource":                    noSummaryInState,
	"ToolResultTerminalCompleteContent.cwd":      "a tool's terminal has no directory since 0.7.0: its own state has",
	"SessionToolClientExecutionRequest.toolCall": "in part: a client executes a running call alone",
	"ProtectedResourceMetadata.resource_encryption_alg_values_supported": noEncryption,
	"ProtectedResourceMetadata.resource_encryption_enc_values_supported": noEncryption,
}

// dropped are fields of params and results that a release removed, with what happens to them.
var dropped = map[string]string{
	"CreateChatParams.agent":               noSessionModel,
	"CreateChatParams.model":               noSessionModel,
	"CreateSessionParams.agent":            noSessionModel,
	"CreateSessionParams.model":            noSessionModel,
	"CreateSessionParams.fork":             "refused: chats are forked",
	"CreateSessionParams.workingDirectory": "the first of workingDirectories",
	"FetchTurnsParams.before":              "answered by the connection, which has the chat's turns",
	"FetchTurnsParams.limit":               "answered by the connection, which has the chat's turns",
	"FetchTurnsResult.turns":               "answered by the connection, which has the chat's turns",
	"FetchTurnsResult.hasMore":             "answered by the connection, which has the chat's turns",
	"ListSessionsParams.filter":            "never specified: the whole list is the answer",
}

// Every field of the params and the result of a command or notification, in any version, has a
// counterpart in the Go type, or a row here that says what happens to it.
func TestParamsAndResultsOfEveryVersion(t *testing.T) {
	used := map[string]bool{}
	for _, version := range spec.Versions() {
		for _, m := range spec.Need(t, version).Methods() {
			place := paramsOf
			if strings.Contains(m.Name, "/") {
				place = notificationOf
			}
			for p, typ := range map[string]*spec.Type{place: m.Params, resultOf: m.Result} {
				if typ == nil || typ.Kind != spec.Object {
					continue
				}
				for _, f := range typ.Fields {
					name := typ.Name + "." + f.Name
					if _, ok := shapeAt(p + m.Name).Field(f.Name); !ok && dropped[name] == "" {
						t.Errorf("%s: %s has no counterpart", version, name)
					} else if !ok {
						used[name] = true
					}
				}
			}
		}
	}
	for name, why := range dropped {
		if !used[name] {
			t.Errorf("%s is listed as dropped (%s), and is not", name, why)
		}
	}
}
