package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ahp/dialect"
)

var (
	formsMu sync.Mutex
	forms   = map[string]bool{} // checked forms: values of the same form are all valid or all invalid
)

// NoteAction checks an action of a host against the schema of each version that gets it, and
// records errors for Main. It is for tests of a host without a connection.
func NoteAction(c dialect.Context, a ahp.Action) {
	raw, err := ahp.MarshalAction(a)
	if _, unknown := a.(*ahp.UnknownAction); unknown || err != nil || !isNew(raw) {
		return
	}
	for _, version := range dialect.Supported() {
		d := spoken(version)
		down, sent := d.DownAction(c, raw)
		if !sent {
			continue
		}
		var t struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(down, &t) // without a type it has no definition, which note reports
		note(version, spec.ActionDef(t.Type), down)
	}
}

// NoteState checks a state of a host as each version gets it in a snapshot.
func NoteState(c dialect.Context, s ahp.State) {
	raw, err := ahp.Marshal(s)
	if err != nil || !isNew(raw) {
		return
	}
	for _, version := range dialect.Supported() {
		def := spec.StateDef(string(s.Channel()))
		if r, err := rulesFor(version); err == nil && !r.has(def) {
			continue // this version lacks the channel
		}
		down, err := spoken(version).DownState(c, s.Channel(), raw)
		if err != nil {
			Note(fmt.Errorf("%s: %s cannot be said in %s: %w", def, raw, version, err))
			continue
		}
		note(version, def, down)
	}
}

func spoken(version string) *dialect.Dialect {
	v, _ := dialect.Parse(version) // a supported version
	d, _ := dialect.Of(v)
	return d
}

func note(version, def string, raw []byte) {
	r, err := rulesFor(version)
	switch {
	case errors.Is(err, spec.ErrAbsent) && os.Getenv("AHPHUB_REQUIRE_SPEC") != "1":
		Note(spec.ErrAbsent)
	case err != nil:
		Note(err)
	default:
		Note(r.check(def, raw))
	}
}

// isNew reports whether no value of the same form was checked: the same fields with the same kinds,
// and the same values of discriminators.
func isNew(raw []byte) bool {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return true
	}
	var b strings.Builder
	describe(&b, "", v)
	formsMu.Lock()
	defer formsMu.Unlock()
	form := b.String()
	known := forms[form]
	forms[form] = true
	return !known
}

func describe(b *strings.Builder, key string, v any) {
	switch v := v.(type) {
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(k)
			describe(b, k, v[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		elements := map[string]bool{}
		for _, e := range v {
			var one strings.Builder
			describe(&one, key, e)
			elements[one.String()] = true
		}
		for _, e := range slices.Sorted(maps.Keys(elements)) {
			b.WriteString(e)
		}
		b.WriteByte(']')
	case string:
		if slices.Contains([]string{"type", "kind", "status", "state", "lifecycle", "reason", "confirmed"}, key) {
			b.WriteString("=" + v)
		}
		b.WriteByte('"')
	default:
		fmt.Fprintf(b, "%T", v)
	}
}
