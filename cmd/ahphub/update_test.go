package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestUpdateCheckSaysNewerVersion(t *testing.T) {
	isolate(t)
	answer, asked := "", 0
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if ua := r.Header.Get("User-Agent"); ua != "ahphub" || r.ContentLength > 0 || r.URL.RawQuery != "" {
			t.Errorf("the feed is told more than needed: %q %q", ua, r.URL)
		}
		w.Write([]byte(answer))
	}))
	defer feed.Close()
	for _, test := range []struct{ name, current, answer, want, wrong string }{
		{"newer", "1.2.3", `{"version":"1.10.0","url":"https://example.com/v1.10.0"}`,
			"current=1.2.3\nnewest=1.10.0\nupdate=available\nurl=https://example.com/v1.10.0\n", ""},
		{"same", "v1.2.3", `{"version":"1.2.3","url":""}`, "update=none\n", ""},
		{"older", "2.0.0", `{"version":"1.2.3","url":""}`, "update=none\n", ""},
		{"candidate", "1.2.3-rc.1", `{"version":"1.2.3","url":"https://example.com"}`, "update=available\n", ""},
		{"built after it", "1.2.3-4-gabcdef", `{"version":"1.2.3","url":""}`, "update=none\n", ""},
		{"not released", "abcdef0", `{"version":"1.2.3","url":""}`, "update=unknown", ""},
		{"address of a script", "1.2.3", `{"version":"1.2.4","url":"javascript:alert(1)"}`, "update=available\nurl=\n", ""},
		{"page of a captive portal", "1.2.3", `<html>`, "", "not the description of a release"},
		{"endless", "1.2.3", strings.Repeat(" ", mostFeed+1), "", "not the description of a release"},
		{"no version", "1.2.3", `{}`, "", "names no version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := version
			version, answer = test.current, test.answer
			defer func() { version = before }()
			out, _, err := do(t, "update", "--check", "--update-feed", feed.URL)
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) || !strings.Contains(err.Error(), feed.URL) {
					t.Errorf("got %v", err)
				}
			} else if err != nil || !strings.Contains(out, test.want) {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
	asked = 0
	if _, _, err := do(t, "update", "--update-feed", feed.URL); err == nil || !strings.Contains(err.Error(), "--check") {
		t.Errorf("without --check: %v", err)
	}
	if asked != 0 {
		t.Error("the feed was asked without --check")
	}
}

func TestHealthFailsWithoutServer(t *testing.T) {
	isolate(t)
	status := http.StatusOK
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			t.Errorf("asks for %s", r.URL)
		}
		w.WriteHeader(status)
	})
	for _, server := range []*httptest.Server{httptest.NewServer(handler), httptest.NewTLSServer(handler)} {
		at, _ := url.Parse(server.URL)
		status = http.StatusOK
		if out, _, err := do(t, "health", "--listen", at.Host); err != nil || out != "health=ok\n" {
			t.Errorf("%s: %q, %v", at.Scheme, out, err)
		}
		status = http.StatusServiceUnavailable
		if _, _, err := do(t, "health", "--listen", at.Host); err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("%s: %v", at.Scheme, err)
		}
		server.Close()
		if _, _, err := do(t, "health", "--listen", at.Host); err == nil || !strings.Contains(err.Error(), at.Host) {
			t.Errorf("%s, closed: %v", at.Scheme, err)
		}
	}
}
