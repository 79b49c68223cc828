package dialect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

// TestOldClientsKeepUp checks that a client that reduces the messages of its version has the state
// of a fresh snapshot, unless its version lacked one of the actions.
func TestOldClientsKeepUp(t *testing.T) {
	inputs := slices.Concat(files(t, shared+"fixtures/1.0/reducers/*.json"),
		files(t, shared+"fixtures/1.0/derived/*.json"))
	for _, d := range dialects {
		if !d.Rewrites() {
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			for _, file := range inputs {
				name := strings.TrimSuffix(filepath.Base(file), ".json")
				diff, all := follow(t, d, file)
				if _, known := drifts[name]; diff != "" && all && !known {
					t.Errorf("%s\n%s", name, diff)
				}
			}
		})
	}
}

func follow(t *testing.T, d *Dialect, file string) (diff string, all bool) {
	t.Helper()
	var f fixture
	b, err := os.ReadFile(file)
	must(t, err)
	must(t, json.Unmarshal(b, &f))
	c := fuzzContext()
	host, err := ahp.UnmarshalState(f.Reducer, f.Initial)
	must(t, err)
	all = true
	client := received(t, d, f.Reducer, sent(t, d, host))
	for _, raw := range f.Actions {
		a, err := ahp.UnmarshalAction(raw)
		must(t, err)
		if _, unknown := a.(*ahp.UnknownAction); unknown {
			continue
		}
		host = ahp.Reduce(host, a)
		raw, err := ahp.MarshalAction(a)
		must(t, err)
		down, ok := d.DownAction(c, raw)
		if !ok {
			all = false
			continue
		}
		c.State = client
		up, err := d.UpAction(c, down)
		must(t, err)
		a, err = ahp.UnmarshalAction(up)
		must(t, err)
		client = ahp.Reduce(client, a)
	}
	got, want := comparable(t, f.Reducer, sent(t, d, client)), comparable(t, f.Reducer, sent(t, d, host))
	if reflect.DeepEqual(got, want) {
		return "", all
	}
	g, _ := encode(got)
	w, _ := encode(want)
	return "has  " + string(g) + "\nwant " + string(w), all
}

func sent(t *testing.T, d *Dialect, s ahp.State) []byte {
	t.Helper()
	raw, err := ahp.Marshal(s)
	must(t, err)
	down, err := d.DownState(fuzzContext(), s.Channel(), raw)
	must(t, err)
	return down
}

func received(t *testing.T, d *Dialect, kind ahp.ChannelKind, raw []byte) ahp.State {
	t.Helper()
	up, err := d.UpState(fuzzContext(), kind, raw)
	must(t, err)
	s, err := ahp.UnmarshalState(kind, up)
	must(t, err)
	return s
}

// drifts are the fixtures after which an old client differs although it received every action, with
// the reason.
var drifts = map[string]string{
	"260-edited-tool-input-survives-reconfirmation": "tool input by reference is left out, so the old text stays",
}
