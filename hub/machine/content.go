package machine

import (
	"encoding/base64"
	"mime"
	"net/http"
	"path"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/ahp"
)

// EncodeContent returns the answer to resourceRead for content: text when it is text and the client does not ask for
// base64, otherwise base64 (AHP requirement 169).
func EncodeContent(mediaType string, data []byte, want ahp.ContentEncoding) ahp.ResourceReadResult {
	out := ahp.ResourceReadResult{ContentType: mediaType}
	if want == ahp.ContentEncodingBase64 || !utf8.Valid(data) {
		out.Data, out.Encoding = base64.StdEncoding.EncodeToString(data), ahp.ContentEncodingBase64
		return out
	}
	out.Data, out.Encoding = string(data), ahp.ContentEncodingUtf8
	return out
}

// MediaType determines the media type from the first bytes and the name. It trusts a name only for text: a picture must
// have a picture's bytes.
func MediaType(name string, data []byte) string {
	kind := http.DetectContentType(data)
	if kind != "text/plain; charset=utf-8" {
		return kind
	}
	switch named := mime.TypeByExtension(path.Ext(name)); named {
	case "application/json", "image/svg+xml", "text/css; charset=utf-8", "text/markdown; charset=utf-8",
		"application/xml":
		return named
	}
	return kind
}
