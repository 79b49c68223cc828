package notify

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
)

func TestWebhookSpeaksSlackAndNtfy(t *testing.T) {
	const place = publicURL + "/s/short/c/one#tool-call%20a1"
	for _, test := range []struct {
		format        Format
		address, sent string
		want          map[string]any
	}{
		{FormatSlack, "https://hooks.slack.com/services/T0/B1/XX", "https://hooks.slack.com/services/T0/B1/XX", map[string]any{
			"text": "*Approval needed* · <" + place + "|Fix the parser>\nRun command: npm test --token=…"}},
		{FormatNtfy, "https://ntfy.sh/ahphub-ana", "https://ntfy.sh/", map[string]any{"topic": "ahphub-ana",
			"title": "Approval needed · Fix the parser", "message": "Run command: npm test --token=…", "click": place,
			"priority": 4.0}},
		{FormatNtfy, "https://push.example.com/ntfy/topic/?auth=x", "https://push.example.com/ntfy/?auth=x", map[string]any{
			"topic": "topic", "title": "Approval needed · Fix the parser", "message": "Run command: npm test --token=…",
			"click": place, "priority": 4.0}},
	} {
		t.Run(string(test.format), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newMemory())
				defer w.stop()
				_, secret, err := w.n.NewHook(t.Context(), Hook{Owner: "owner", URL: test.address, Format: test.format})
				if err != nil || secret != "" {
					t.Fatalf("%v, and a secret to show: %q", err, secret)
				}
				w.apply(session, approval("a1"))
				got := w.received()
				if len(got) != 1 || got[0].url != test.sent || got[0].header.Get("Webhook-Signature") != "" {
					t.Fatalf("posted is %+v", got)
				}
				var body map[string]any
				if err := json.Unmarshal([]byte(got[0].rawBody), &body); err != nil || len(body) != len(test.want) {
					t.Fatalf("%s, %v", got[0].rawBody, err)
				}
				for field, want := range test.want {
					if body[field] != want {
						t.Errorf("%s is %q, want %q", field, body[field], want)
					}
				}
			})
		})
	}
}

func TestSlackMessageCannotMentionOrLink(t *testing.T) {
	text := slackText(&payload{Title: "New comment", Text: "<!channel> & <https://evil.example|here>", URL: "https://hub.example.com/s/x",
		Session: inside{Title: "a|b> <@U1>"}, By: &person{Name: "<!here>"}})
	if strings.Count(text, "<") != 1 || strings.Count(text, ">") != 1 || strings.Count(text, "|") != 2 ||
		!strings.Contains(text, "<https://hub.example.com/s/x|a/b&gt;") {
		t.Errorf("the message is %q", text)
	}
}

func TestWebhookFormatsAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		defer w.stop()
		for want, h := range map[string]Hook{
			"choose a format": {URL: hookAddress, Format: "xml"},
			"of a topic":      {URL: "https://ntfy.sh/", Format: FormatNtfy},
			"use https":       {URL: "http://ntfy.sh/topic", Format: FormatNtfy},
		} {
			if _, _, err := w.n.NewHook(t.Context(), h); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v", h, err)
			}
		}
		if p := ntfyText(&payload{Session: inside{Title: "Fix the parser"}}); p != "Fix the parser" {
			t.Errorf("a message without text is %q", p)
		}
	})
}
