package machine

import (
	"encoding/base64"
	"mime"
	"net/http"
	"path"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/ahp"
)

// EncodeContent makes the answer to resourceRead of content: as text when it is text and the client does not ask
// otherwise, else as base64 (AHP requirement 169).
func EncodeContent(mediaType string, data []byte, want ahp.ContentEncoding) ahp.ResourceReadResult {
	out := ahp.ResourceReadResult{ContentType: mediaType}
	if want == ahp.ContentEncodingBase64 || !utf8.Valid(data) {
		out.Data, out.Encoding = base64.StdEncoding.EncodeToString(data), ahp.ContentEncodingBase64
		return out
	}
	out.Data, out.Encoding = string(data), ahp.ContentEncodingUtf8
	return out
}

// MediaType determines the media type from the first bytes and the name. A name is believed for text only: a picture
// is one when its bytes say so.
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
