package dialect

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/hub/ahp"
)

// otherwiseRead are params of commands that are converted or ignored, with the reason.
var otherwiseRead = map[string]string{
	"CreateChatParams.agent":               "goes into the first message, if there is one",
	"CreateChatParams.model":               "goes into the first message, if there is one",
	"CreateChatParams.source":              "is a source of the kind fork",
	"CreateSessionParams.agent":            noSessionModel,
	"CreateSessionParams.model":            noSessionModel,
	"CreateSessionParams.fork":             "refused: chats are forked",
	"CreateSessionParams.workingDirectory": "is the first of workingDirectories",
	"FetchTurnsParams.before":              "read by the connection, which answers with the turns",
	"FetchTurnsParams.limit":               "read by the connection, which answers with the turns",
	"ListSessionsParams.filter":            "ignored: the whole list, which has what was asked for",
}

// unsent are fields of results and notifications that are not sent, with the reason.
var unsent = map[string]string{
	"FetchTurnsResult.hasMore": "written by the connection",
	"FetchTurnsResult.turns":   "written by the connection",
}

// Every field of a version's params is read into the current types, and every field of its results
// and notifications has a counterpart there.
func TestMethodsOfEveryVersionHaveCounterparts(t *testing.T) {
	used := map[string]bool{}
	for _, version := range spec.Versions() {
		d, checked := of(t, version), 0
		for _, m := range spec.Need(t, version).Methods() {
			checked += len(m.Params.Fields)
			var faults []string
			if strings.Contains(m.Name, "/") {
				faults = checkSent(m.Name, m.Params, notifications[m.Name], used)
			} else {
				faults = append(checkRead(t, d, m, used), checkSent(m.Name, m.Result, results[m.Name], used)...)
			}
			for _, fault := range faults {
				t.Errorf("%s: %s", version, fault)
			}
		}
		if checked < 80 {
			t.Errorf("%s: only %d fields were checked", version, checked)
		}
	}
	for _, list := range []map[string]string{otherwiseRead, unsent} {
		for name, why := range list {
			if !used[name] {
				t.Errorf("%s is listed (%s), and has its counterpart", name, why)
			}
		}
	}
}

// checkRead converts params with each field of a command to the current version and through its
// type.
func checkRead(t *testing.T, d *Dialect, m spec.Method, used map[string]bool) (faults []string) {
	t.Helper()
	if params[m.Name] == nil {
		return []string{m.Name + " is no command of today's"}
	}
	for _, f := range m.Params.Fields {
		value := least(f.Type, f.Name, 0)
		raw, err := encode(with(m.Params, f, value))
		must(t, err)
		got := "nothing"
		if up, err := d.UpParams(Context{}, m.Name, raw); err == nil {
			into := reflect.New(reflect.TypeOf(params[m.Name])).Interface()
			must(t, ahp.Unmarshal(up, into))
			out, err := ahp.Marshal(into)
			must(t, err)
			got = find(t, out, []string{f.Name})
		}
		want, err := encode(value)
		must(t, err)
		name := m.Params.Name + "." + f.Name
		if !same(t, got, want) {
			used[name] = true
			if otherwiseRead[name] == "" {
				faults = append(faults, name+" of "+string(raw)+" is read as "+got)
			}
		}
	}
	return faults
}

// checkSent looks for the fields of a result or a notification in the type that it is encoded from.
func checkSent(method string, def *spec.Type, v any, used map[string]bool) (faults []string) {
	if def == nil || def.Kind != spec.Object || len(def.Fields) == 0 {
		return nil
	}
	if v == nil {
		return []string{method + " has no type here"}
	}
	for _, f := range def.Fields {
		name := def.Name + "." + f.Name
		if _, ok := ahp.ShapeOf(v).Field(f.Name); ok {
			continue
		}
		used[name] = true
		if unsent[name] == "" {
			faults = append(faults, name+" has no counterpart")
		}
	}
	return faults
}
