package web

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// relayed serves a page of a node that leads through one that follows, and returns the answer there.
func relayed(t *testing.T, leader http.Handler, method string, headers ...string) *http.Response {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leader.ServeHTTP(w, FromNode(r, Arrival{Visitor: "203.0.113.9:1", Compresses: MayCompress(r)}))
	}))
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	proxy := CompressRelayed(&httputil.ReverseProxy{Transport: transport, FlushInterval: -1,
		Rewrite: func(pr *httputil.ProxyRequest) { pr.SetURL(at) },
		ModifyResponse: func(res *http.Response) error {
			res.Header.Set("Leader-Sent", res.Header.Get("Content-Encoding"))
			return nil
		}})
	follower := httptest.NewServer(proxy)
	t.Cleanup(follower.Close)
	r, err := http.NewRequest(method, follower.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	res, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// The node that a visitor asks compresses what the leader would have, and nothing else.
func TestRelayedAnswersAreCompressedByTheNodeAsked(t *testing.T) {
	text := strings.Repeat("a line of a page beside a secret\n", 3000)
	page := typed("text/html; charset=utf-8", text)
	for name, c := range map[string]struct {
		leader  http.Handler
		method  string
		headers []string
		want    string
	}{
		"a page":                         {Compress(page), http.MethodGet, []string{"Accept-Encoding: gzip, zstd"}, "zstd"},
		"a page for an old browser":      {Compress(page), http.MethodGet, []string{"Accept-Encoding: gzip"}, "gzip"},
		"a page for a simple program":    {Compress(page), http.MethodGet, nil, ""},
		"an answer left as it is":        {page, http.MethodGet, []string{"Accept-Encoding: gzip, zstd"}, ""},
		"a picture":                      {Compress(typed("image/png", text)), http.MethodGet, []string{"Accept-Encoding: zstd"}, ""},
		"the answer to a form":           {Compress(page), http.MethodPost, []string{"Accept-Encoding: zstd"}, ""},
		"another site's navigation":      {Compress(page), http.MethodGet, []string{"Accept-Encoding: zstd", "Sec-Fetch-Site: cross-site"}, ""},
		"an answer that says how it is":  {Compress(encoded("br", text)), http.MethodGet, []string{"Accept-Encoding: zstd"}, "br"},
		"a leader that knows no request": {unaware(Compress(page)), http.MethodGet, []string{"Accept-Encoding: zstd"}, "zstd"},
	} {
		res := relayed(t, c.leader, c.method, c.headers...)
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Header.Get("Content-Encoding"); got != c.want {
			t.Errorf("%s is sent as %q, want %q", name, got, c.want)
		}
		if c.want != "br" && unpack(t, c.want, body) != text || c.want == "br" && string(body) != text {
			t.Errorf("%s does not unpack to what was sent", name)
		}
		if sent := res.Header.Get("Leader-Sent"); sent != "" && sent != "br" && !strings.HasPrefix(name, "a leader") {
			t.Errorf("%s: the leader compressed it by %s", name, sent)
		}
		for h := range res.Header {
			if h == compressHeader || strings.Contains(h, "No-Gzip") {
				t.Errorf("%s: the visitor is sent %s", name, h)
			}
		}
	}
}

func encoded(coding, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, body)
	}
}

// unaware is a leader of an older release, which compresses itself.
func unaware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		old := httptest.NewRequest(r.Method, "/", nil)
		old.Header = r.Header
		next.ServeHTTP(w, old)
	})
}

// A visitor cannot make a server that leads send the mark, or leave out the compression.
func TestVisitorsCannotAskForRelaying(t *testing.T) {
	res := answerOf(t, typed("text/html", strings.Repeat("text ", 1000)), http.MethodGet, "Accept-Encoding: zstd",
		compressHeader+": 1", "Ahphub-Compresses: 1")
	if res.Header.Get("Content-Encoding") != "zstd" || res.Header.Get(compressHeader) != "" {
		t.Errorf("it is sent %v", res.Header)
	}
}

// The beginning of a long page reaches the visitor while the rest is drawn.
func TestRelayedPageIsSentAsItIsFlushed(t *testing.T) {
	seen := make(chan struct{})
	first := strings.Repeat("first rows ", 200)
	res := relayed(t, Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, first)
		_ = http.NewResponseController(w).Flush()
		<-seen
		for _, piece := range []string{"next ", "rows ", "here "} {
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
		<-seen
		_, _ = io.WriteString(w, "last")
	})), http.MethodGet, "Accept-Encoding: zstd")
	z, err := zstd.NewReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	got := make([]byte, len(first))
	if _, err := io.ReadFull(z, got); err != nil || !bytes.Equal(got, []byte(first)) {
		t.Errorf("first %.20q, %v", got, err)
	}
	seen <- struct{}{}
	more := make([]byte, len("next rows here "))
	if _, err := io.ReadFull(z, more); err != nil || string(more) != "next rows here " {
		t.Errorf("then %q, %v", more, err)
	}
	close(seen)
	if rest, err := io.ReadAll(z); err != nil || string(rest) != "last" {
		t.Errorf("then %q, %v", rest, err)
	}
}
