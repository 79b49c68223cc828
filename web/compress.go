package web

import (
	"mime"
	"net/http"
	"slices"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/zstd"
)

// compressed lists the content types that Compress compresses. Event streams are not among them:
// each event would wait in the compressor, and every open page would keep one.
var compressed = []string{"text/html", "text/plain", "text/csv", "text/x-diff", "application/json",
	"application/jsonl", "application/x-ndjson", "application/manifest+json", "image/svg+xml"}

// gzipLevel brings the review of 100 files and 10,000 lines below 300 KB, as zstd's "better" level does.
const gzipLevel = 8

// Compress compresses the answers of next to GET with zstd or gzip, as the browser prefers. The length of a
// compressed answer reveals something about its content (BREACH) to attackers who see the traffic and can make a
// browser request pages that contain the attacker's text. So three kinds of answers stay uncompressed: to requests
// that another site's page caused, to forms (the only ones that show a secret), and streams.
func Compress(next http.Handler) http.Handler {
	pack, err := gzhttp.NewWrapper(gzhttp.ContentTypeFilter(isCompressed), gzhttp.RandomJitter(32, -1, false),
		gzhttp.ZstdCompressionLevel(int(zstd.SpeedBetterCompression)), gzhttp.CompressionLevel(gzipLevel))
	if err != nil {
		panic(err) // an invalid option fails the first test
	}
	packed := pack(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || isSocket(r) || isEventStream(r) || isFromOtherSite(r) {
			next.ServeHTTP(w, r)
			return
		}
		packed(w, r)
	})
}

func isCompressed(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && slices.Contains(compressed, kind)
}

// isEventStream reports whether a script opened an EventSource.
func isEventStream(r *http.Request) bool { return r.Header.Get("Accept") == "text/event-stream" }

// isFromOtherSite reports whether a page of another site caused the request. Browsers send this header over TLS.
func isFromOtherSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}
