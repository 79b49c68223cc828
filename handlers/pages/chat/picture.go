package chat

import (
	"encoding/base64"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// ShowPicture serves GET …/pictures/{turn}/{part}/{n}: a picture of an answer, or the n-th content
// of a tool call if it is one. Data whose bytes are not a picture's is not found.
func (p *Pages) ShowPicture(w http.ResponseWriter, r *http.Request) error {
	_, chat, err := p.FindChat(r)
	if err != nil {
		return err
	}
	t, ok := turnOf(chat, chi.URLParam(r, "turn"), "", "")
	i, wrong := strconv.Atoi(chi.URLParam(r, "part"))
	n, wrongToo := strconv.Atoi(chi.URLParam(r, "n"))
	if !ok || wrong != nil || wrongToo != nil || i < 0 || i >= len(t.Parts) {
		return site.NotFound("Image not found.")
	}
	encoded, err := p.pictureData(r, t.Parts[i], n)
	if err != nil {
		return err
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	media := pastedType(data)
	if err != nil || media == "" {
		return site.NotFound("Image not found.")
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, max-age=3600")
	_, _ = w.Write(data) // the client may have disconnected
	return nil
}

// pictureData returns a picture as base64. Referenced resources are read with the caller's rights.
func (p *Pages) pictureData(r *http.Request, of ahp.ResponsePart, n int) (string, error) {
	switch v := of.Value.(type) {
	case *ahp.ResourceResponsePart:
		got, err := p.Files.ResourceRead(r.Context(), p.CallerOf(r.Context()),
			ahp.ResourceReadParams{Channel: ahp.RootURI, URI: v.URI, Encoding: ahp.ContentEncodingBase64})
		return got.Data, err
	case *ahp.ToolCallResponsePart:
		content := part.ToolOf(v.ToolCall).Content
		if n < 0 || n >= len(content) {
			break
		}
		if e, ok := content[n].Value.(*ahp.ToolResultEmbeddedResourceContent); ok {
			return e.Data, nil
		}
	}
	return "", site.NotFound("Image not found.")
}
