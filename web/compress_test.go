package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// answerOf serves one page through Compress and returns the answer.
func answerOf(t *testing.T, page http.HandlerFunc, method string, headers ...string) *http.Response {
	t.Helper()
	s := httptest.NewServer(Compress(page))
	t.Cleanup(s.Close)
	r, err := http.NewRequest(method, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := (&http.Transport{DisableCompression: true}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func typed(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

func TestPagesAreCompressed(t *testing.T) {
	text := strings.Repeat("<p>one line of a page</p>\n", 1000)
	page := typed("text/html; charset=utf-8", text)
	for accept, want := range map[string]string{"gzip, deflate, br, zstd": "zstd", "gzip": "gzip",
		"zstd;q=0, gzip": "gzip", "br": "", "": ""} {
		res := answerOf(t, page, http.MethodGet, "Accept-Encoding: "+accept)
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Header.Get("Content-Encoding"); got != want || want != "" && len(body) > len(text)/20 {
			t.Errorf("with %q: %q in %d bytes, want %q", accept, got, len(body), want)
		}
		if res.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("with %q: a cache cannot tell the answers apart: Vary is %q", accept, res.Header.Get("Vary"))
		}
		if unpack(t, want, body) != text {
			t.Errorf("with %q the page does not unpack to what was sent", accept)
		}
	}
}

func unpack(t *testing.T, coding string, body []byte) string {
	t.Helper()
	var r io.Reader = strings.NewReader(string(body))
	switch coding {
	case "gzip":
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		r = z
	case "zstd":
		z, err := zstd.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		r = z
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The length of an answer may reveal text beside an attacker's text (BREACH).
func TestCrossSiteAnswersAreNotCompressed(t *testing.T) {
	text := strings.Repeat("a secret beside text of theirs ", 1000)
	page := typed("text/html; charset=utf-8", text)
	for name, ask := range map[string]struct {
		page    http.HandlerFunc
		method  string
		headers []string
	}{
		"another site's navigation": {page, http.MethodGet, []string{"Sec-Fetch-Site: cross-site"}},
		"another port's navigation": {page, http.MethodGet, []string{"Sec-Fetch-Site: same-site"}},
		"a form's answer":           {page, http.MethodPost, []string{"Sec-Fetch-Site: same-origin"}},
		"a stream":                  {typed("text/event-stream", text), http.MethodGet, nil},
		"a picture":                 {typed("image/png", text), http.MethodGet, nil},
	} {
		res := answerOf(t, ask.page, ask.method, append(ask.headers, "Accept-Encoding: gzip, zstd")...)
		if got := res.Header.Get("Content-Encoding"); got != "" {
			t.Errorf("%s is sent as %s", name, got)
		}
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != text {
			t.Errorf("%s: %d bytes, %v", name, len(body), err)
		}
	}
}

// A long review is rendered while it is sent.
func TestCompressedPageIsSentAsItIsFlushed(t *testing.T) {
	seen := make(chan struct{})
	res := answerOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, strings.Repeat("first rows ", 200))
		_ = http.NewResponseController(w).Flush()
		<-seen
		_, _ = io.WriteString(w, "last")
	}, http.MethodGet, "Accept-Encoding: zstd")
	z, err := zstd.NewReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if _, err := io.ReadFull(z, make([]byte, 2200)); err != nil {
		t.Error(err)
	}
	close(seen)
	if rest, err := io.ReadAll(z); err != nil || string(rest) != "last" {
		t.Errorf("then %q, %v", rest, err)
	}
}
