package rpc

import (
	"encoding/base64"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

func TestComputedNames(t *testing.T) {
	w := newWorld(t, Config{}, hub.Config{})
	s := &socket{cfg: w.end.cfg, principal: principals["owner"]}
	chat := func(session string) ahp.URI {
		return "ahp-chat://any.host/" + base64.RawURLEncoding.EncodeToString([]byte(session))
	}
	for uri, want := range map[ahp.URI]ahp.URI{
		"ahp-session:/2": "ahp-session:/2", "p:/2": "ahp-session:/2", chat("ahp-session:/2"): "ahp-chat:/2",
		chat("p:/2"): "ahp-chat:/2",
		// without a default chat
		chat("p:/2") + "==": "ahp-chat:/2", "p:/9": "", chat("p:/9"): "", chat(chat("p:/2")): "", chat("p:/1"): "",
		"ahp-other:/2": "", `p:/"`: "", "ahp-chat://host": "", "ahp-chat://host/%": "", "": "",
	} {
		if got, ok := s.resolve(uri); got != want && ok {
			t.Errorf("%q is %q, want %q", uri, got, want)
		} else if ok != (want != "") {
			t.Errorf("%q is known: %t", uri, ok)
		}
	}
}

func TestOnlyWholeStringsAreRewritten(t *testing.T) {
	var n spelling
	n.learn("p:/2", func(ahp.URI) (ahp.URI, bool) { return "ahp-session:/2", true })
	const frame = `{"channel":"ahp-session:/2","a":["ahp-session:/2/annotations","ahp-session:/22","say \"ahp-session:/2\" twice"]}`
	const want = `{"channel":"p:/2","a":["p:/2/annotations","ahp-session:/22","say \"ahp-session:/2\" twice"]}`
	if got := string(n.toClient([]byte(frame))); got != want {
		t.Errorf("rewritten to %s", got)
	}
	n = spelling{}
	same := func(uri ahp.URI) (ahp.URI, bool) { return "ahp-session:/2", true }
	n.learn("ahp-session:/2", same)
	n.learn("p:/2", same)
	if got := string(n.toClient([]byte(frame))); got != frame {
		t.Errorf("a client that uses the host's name is told another: %s", got)
	}
}

func TestNameSessionsByProvider(t *testing.T) {
	n := spelling{providers: &providers{find: func(session ahp.URI) string {
		if session == "ahp-session:/gone" {
			return ""
		}
		return "p"
	}}}
	n.learn("ahp-session:/own/annotations", func(ahp.URI) (ahp.URI, bool) { return "", false })
	for frame, want := range map[string]string{
		`{"channel":"ahp-session:/2","ahp-session:/2":["ahp-session:/2/a/b" , "ahp-session:/22"]}`:  `{"channel":"p:/2","p:/2":["p:/2/a/b" , "p:/22"]}`,
		`["ahp-session:/own","ahp-session:/own/annotations","ahp-session:/owner"]`:                  `["ahp-session:/own","ahp-session:/own/annotations","p:/owner"]`,
		`["ahp-session:/gone","x ahp-session:/2","ahp-sessions:/2","ahp-session:2"]`:                `["ahp-session:/gone","x ahp-session:/2","ahp-sessions:/2","ahp-session:2"]`,
		`["ahp-session:/2 is text","say \"ahp-session:/2\"","\"ahp-session:/2","ahp-session:/2\n"]`: `["ahp-session:/2 is text","say \"ahp-session:/2\"","\"ahp-session:/2","ahp-session:/2\n"]`,
		`"ahp-session:/2`: `"ahp-session:/2`,
		`"ahp-session:/"`: `"p:/"`,
		``:                ``,
	} {
		if got := string(n.toClient([]byte(frame))); got != want {
			t.Errorf("%s is rewritten to %s, want %s", frame, got, want)
		}
	}
	n.learn("p:/own", func(ahp.URI) (ahp.URI, bool) { return "ahp-session:/own", true })
	if got := string(n.toClient([]byte(`"ahp-session:/own"`))); got != `"p:/own"` {
		t.Errorf("a client that went over to the provider's name is told %s", got)
	}
}
