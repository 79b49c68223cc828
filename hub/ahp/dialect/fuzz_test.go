package dialect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

var kinds = []ahp.ChannelKind{ahp.ChannelRoot, ahp.ChannelSession, ahp.ChannelChat, ahp.ChannelTerminal,
	ahp.ChannelChangeset, ahp.ChannelAnnotations}

func fuzzContext() Context {
	return Context{Resource: "ahp-session:/s", Session: "ahp-session:/s", ClientID: "c", Now: time.UnixMilli(1000)}
}

// FuzzState checks that states of old versions survive the conversion up and down, and that no
// input panics.
func FuzzState(f *testing.F) {
	own, _ := filepath.Glob("testdata/*/*.json")
	for _, file := range own {
		b, err := os.ReadFile(file)
		must(f, err)
		var fx fixture
		must(f, json.Unmarshal(b, &fx))
		for v := range spans {
			for k, kind := range kinds {
				if kind == fx.Reducer {
					f.Add(uint8(v), uint8(k), []byte(fx.Initial))
					f.Add(uint8(v), uint8(k), []byte(fx.Expected))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, v, k uint8, raw []byte) {
		d, kind := dialects[int(v)%len(dialects)], kinds[int(k)%len(kinds)]
		once, ok := throughState(d, kind, raw)
		if !ok {
			return
		}
		twice, ok := throughState(d, kind, once)
		if !ok || string(once) != string(twice) {
			t.Errorf("%s %s\nsaid  %s\nonce  %s\ntwice %s", d.Name(), kind, raw, once, twice)
		}
	})
}

func throughState(d *Dialect, kind ahp.ChannelKind, raw []byte) ([]byte, bool) {
	up, err := d.UpState(fuzzContext(), kind, raw)
	if err != nil {
		return nil, false
	}
	s, err := ahp.UnmarshalState(kind, up)
	if err != nil {
		_, _ = d.DownState(fuzzContext(), kind, raw)
		return nil, false
	}
	b, err := ahp.Marshal(s)
	if err != nil {
		return nil, false
	}
	down, err := d.DownState(fuzzContext(), kind, b)
	return down, err == nil
}

// FuzzAction is FuzzState for actions.
func FuzzAction(f *testing.F) {
	own, _ := filepath.Glob("testdata/*/*.json")
	for _, file := range own {
		b, err := os.ReadFile(file)
		must(f, err)
		var fx fixture
		must(f, json.Unmarshal(b, &fx))
		for v := range spans {
			for _, a := range fx.Actions {
				f.Add(uint8(v), []byte(a))
			}
		}
	}
	f.Fuzz(func(t *testing.T, v uint8, raw []byte) {
		d := dialects[int(v)%len(dialects)]
		once, ok := throughAction(d, raw)
		if !ok {
			return
		}
		twice, ok := throughAction(d, once)
		if !ok || string(once) != string(twice) {
			t.Errorf("%s\nsaid  %s\nonce  %s\ntwice %s", d.Name(), raw, once, twice)
		}
	})
}

func throughAction(d *Dialect, raw []byte) ([]byte, bool) {
	up, err := d.UpAction(fuzzContext(), raw)
	if err != nil {
		return nil, false
	}
	a, err := ahp.UnmarshalAction(up)
	if _, unknown := a.(*ahp.UnknownAction); err != nil || unknown {
		_, _ = d.DownAction(fuzzContext(), raw)
		return nil, false
	}
	b, err := ahp.MarshalAction(a)
	if err != nil {
		return nil, false
	}
	return d.DownAction(fuzzContext(), b)
}

// FuzzParams checks that no params, result or notification panics.
func FuzzParams(f *testing.F) {
	f.Add(uint8(9), "createSession",
		[]byte(`{"workingDirectory":"file:///w","model":{},"activeClient":{"customizations":[{"type":"plugin","enabled":false}]}}`))
	f.Add(uint8(6), "createChat",
		[]byte(`{"source":{"chat":"c"},"model":1,"initialMessage":{"attachments":[{"type":"chat"}]}}`))
	f.Add(uint8(9), "root/sessionSummaryChanged",
		[]byte(`{"changes":{"modifiedAt":"2026-01-02T03:04:05Z","workingDirectories":["a"]}}`))
	f.Add(uint8(4), "auth/required", []byte(`{"resource":{"resource":"r"}}`))
	f.Add(uint8(8), "listSessions", []byte(`{"items":[{"createdAt":"x","workingDirectories":[]}],"filter":{}}`))
	f.Fuzz(func(t *testing.T, v uint8, method string, raw []byte) {
		d, c := dialects[int(v)%len(dialects)], fuzzContext()
		_, _ = d.UpParams(c, method, raw)
		_, _ = d.DownResult(c, method, raw)
		_, _ = d.DownNotification(c, method, raw)
	})
}
