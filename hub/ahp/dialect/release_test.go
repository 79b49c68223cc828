package dialect

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/e2e/spec"
	"github.com/ahphub/ahphub/hub/ahp"
)

// An action is sent only to the versions that have it (AHP requirement 22).
func TestActionsOfLaterReleasesAreNotSent(t *testing.T) {
	for _, d := range dialects {
		s := spec.Need(t, schemaOf(d))
		known := map[string]bool{}
		for _, a := range s.Actions() {
			known[a.Type] = true
		}
		for _, info := range ahp.Actions() {
			a := info.New()
			switch a := a.(type) { // these are not sent when their content is removed
			case *ahp.ChatResponsePartAction:
				a.Part.Value = &ahp.MarkdownResponsePart{}
			case *ahp.SessionInputNeededSetAction:
				a.Request.Value = &ahp.SessionChatInputRequest{}
			}
			raw, err := ahp.MarshalAction(a)
			must(t, err)
			down, sent := d.DownAction(Context{}, raw)
			if sent && !known[typeOf(down)] {
				t.Errorf("%s is sent %s for %s, which it does not have", d.Name(), typeOf(down), info.Type)
			}
			if !sent && known[info.Type] {
				t.Errorf("%s is not sent %s, which it has", d.Name(), info.Type)
			}
		}
	}
}

func schemaOf(d *Dialect) string {
	if d.Name() == "0.10.0" { // never released: like 0.9
		return "0.9.0"
	}
	return d.Name()
}

func TestReleasesBetweenPublishedSchemas(t *testing.T) {
	cases := []struct {
		version, action string
		want            string // what is sent, "" for nothing
	}{
		{"0.5.0", `{"type":"session/inputNeededSet","request":{"kind":"chatInput","id":"i","chat":"c"}}`, ""},
		{"0.5.0", `{"type":"session/inputNeededRemoved","id":"i"}`, ""},
		{"0.5.1", `{"type":"session/inputNeededRemoved","id":"i"}`, `{"id":"i","type":"session/inputNeededRemoved"}`},
		{"0.5.1", `{"type":"changeset/filesReviewChanged","files":["f"],"reviewed":true}`, ""},
		{"0.5.2", `{"type":"changeset/filesReviewChanged","files":["f"],"reviewed":true}`,
			`{"fileIds":["f"],"reviewed":true,"type":"changeset/filesReviewedChanged"}`},
		{"0.5.1", `{"type":"session/mcpServerStartRequested","id":"m"}`,
			`{"id":"m","state":{"kind":"starting"},"type":"session/mcpServerStateChanged"}`},
		{"0.5.2", `{"type":"session/mcpServerStopRequested","id":"m"}`,
			`{"id":"m","type":"session/mcpServerStopRequested"}`},
		{"0.5.0", `{"type":"chat/turnsLoaded","turns":[]}`, ""},
		{"0.5.0", `{"type":"chat/draftChanged"}`, `{"type":"chat/draftChanged"}`},
		{"0.4.0", `{"type":"chat/draftChanged"}`, ""},
	}
	for _, c := range cases {
		down, sent := of(t, c.version).DownAction(Context{}, []byte(c.action))
		if sent != (c.want != "") || sent && string(down) != c.want {
			t.Errorf("%s is sent %s %v for %s, want %q", c.version, down, sent, c.action, c.want)
		}
	}
}

// A 0.5.0 client, which never receives the end of an input request, does not receive the request
// either.
func TestMirrorOf050KnowsNoInputNeeded(t *testing.T) {
	raw := []byte(`{"lifecycle":"ready","status":24,"chats":[],"activeClients":[],
		"inputNeeded":[{"kind":"chatInput","id":"i"}]}`)
	for version, want := range map[string]bool{"0.4.0": false, "0.5.0": false, "0.5.1": true, "0.7.0": true} {
		down, err := of(t, version).DownState(Context{}, ahp.ChannelSession, raw)
		must(t, err)
		if got := strings.Contains(string(down), "inputNeeded"); got != want {
			t.Errorf("%s is sent inputNeeded: %v, want %v: %s", version, got, want, down)
		}
	}
}

// Fields that a version does not have are ignored in what its clients send (AHP requirement 23).
func TestFieldsOfLaterReleasesAreIgnored(t *testing.T) {
	cases := []struct{ version, method, params, want string }{
		{"0.5.0", "subscribe", `{"channel":"c","view":{"turns":1},"delivery":{"maxLatencyMs":1}}`, `{"channel":"c"}`},
		{"0.5.1", "subscribe", `{"channel":"c","view":{"turns":1}}`, `{"channel":"c","view":{"turns":1}}`},
		{"0.5.0", "listSessions", `{"channel":"c","limit":1,"cursor":"x"}`, `{"channel":"c"}`},
		{"0.5.1", "listSessions", `{"channel":"c","limit":1}`, `{"channel":"c","limit":1}`},
		{"0.6.0", "createSession", `{"channel":"c","workingDirectories":["a"],"_meta":{"k":1}}`,
			`{"_meta":{"k":1},"channel":"c"}`},
		{"0.7.0", "authenticate", `{"channel":"c","expiresIn":1,"scopes":[]}`, `{"channel":"c","scopes":[]}`},
		{"0.9.0", "authenticate", `{"channel":"c","expiresIn":1,"scopes":[]}`, `{"channel":"c","scopes":[]}`},
		{"0.10.0", "authenticate", `{"channel":"c","expiresIn":1,"_meta":{"k":1}}`, `{"_meta":{"k":1},"channel":"c"}`},
		{"1.0.0", "authenticate", `{"channel":"c","expiresIn":1}`, `{"channel":"c","expiresIn":1}`},
	}
	for _, c := range cases {
		up, err := of(t, c.version).UpParams(Context{}, c.method, []byte(c.params))
		must(t, err)
		if string(up) != c.want {
			t.Errorf("%s %s %s is read as %s, want %s", c.version, c.method, c.params, up, c.want)
		}
	}
}

func TestDispatchedActionsAreOfTheVersion(t *testing.T) {
	const create = `{"type":"automation/createRequested","resource":"a","definition":{"title":"t",` +
		`"disableConditions":[]}}`
	cases := []struct{ version, action, want string }{
		{"0.9.0", create, `{"definition":{"title":"t"},"resource":"a","type":"automation/createRequested"}`},
		{"0.10.0", create, `{"definition":{"title":"t"},"resource":"a","type":"automation/createRequested"}`},
		{"1.0.0", create, create},
		{"0.8.0", create, "AHP 0.8.0 has no action automation/createRequested: offer a newer version"},
		{"0.9.0", `{"type":"chat/isReadChanged","isRead":true}`,
			"AHP 0.9.0 has no action chat/isReadChanged: offer a newer version"},
		{"0.10.0", `{"type":"session/mcpServerBackgroundRequested","id":"m"}`,
			"AHP 0.10.0 has no action session/mcpServerBackgroundRequested: offer a newer version"},
		{"0.9.0", `{"type":"chat/turnResume","turnId":"t"}`, `{"type":"chat/turnResume","turnId":"t"}`},
	}
	for _, c := range cases {
		up, err := of(t, c.version).UpAction(Context{}, []byte(c.action))
		got := string(up)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %s is read as %s, want %s", c.version, c.action, got, c.want)
		}
	}
}

// Every command and notification with a type in package ahp has its shape here, so that its later fields are known.
func TestEveryMethodHasAShape(t *testing.T) {
	for _, m := range spec.Need(t, "1.0.0").Methods() {
		place := paramsOf
		if strings.Contains(m.Name, "/") {
			place = notificationOf
		}
		if shapeAt(place+m.Name) == nil {
			t.Errorf("%s has no shape", place+m.Name)
		}
		if m.Result != nil && shapeAt(resultOf+m.Name) == nil {
			t.Errorf("%s has no shape", resultOf+m.Name)
		}
	}
}
