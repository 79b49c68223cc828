package acp

import (
	"encoding/json"
	"testing"
)

// Any form or setting of a program is read without a panic, and the result can be shown.
func FuzzElicitation(f *testing.F) {
	f.Add([]byte(`{"message":"m","requestedSchema":{"properties":{"b":{"type":"string"},"a":{"type":"array","items":{"enum":["x"]}}},"required":["a"]}}`))
	f.Add([]byte(`{"mode":"url","url":"https://example.org"}`))
	f.Add([]byte(`{"requestedSchema":{"properties":{"n":{"type":"integer","minimum":1,"default":null},"n":{"type":"boolean"}}}}`))
	f.Add([]byte(`{"requestedSchema":{"properties":null}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var q elicitParams
		if json.Unmarshal(raw, &q) != nil {
			return
		}
		made, err := newForm(q)
		if err != nil {
			return
		}
		if len(made.fields) != len(made.request.Questions) {
			t.Errorf("%d questions for %d fields", len(made.request.Questions), len(made.fields))
		}
		if _, err := json.Marshal(made.request); err != nil {
			t.Error(err)
		}
	})
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"modes":{"currentModeId":"a","availableModes":[{"id":"a"}]},"models":{"availableModels":[{"modelId":"m"}]}}`))
	f.Add([]byte(`{"configOptions":[{"id":"mode","type":"select","category":"model","currentValue":"x","options":[{"group":"g","options":[{"value":"x"}]}]},{"id":"mode","type":"boolean","currentValue":true}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s settings
		if json.Unmarshal(raw, &s) != nil {
			return
		}
		keys := map[string]bool{"approval": true}
		for _, d := range settingsOf(s) {
			if keys[d.key] {
				t.Errorf("%q is there twice", d.key)
			}
			keys[d.key] = true
			if _, err := json.Marshal(d.schema()); err != nil {
				t.Error(err)
			}
			if d.boolean() && d.validate(json.RawMessage(`true`)) != nil {
				t.Error("a switch takes no true")
			}
		}
	})
}
