package chat

import (
	"encoding/base64"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	mostAttached      = 10         // files of a message
	mostAttachedBytes = 700 * 1024 // in total: a message is at most 1 MiB, with its text and files as base64
)

// attached reads the files of a form: pictures and texts, which agents accept.
func attached(r *http.Request) (out []ahp.MessageAttachment, err error) {
	total := int64(0)
	for _, h := range chosenFiles(r) {
		if total += h.Size; total > mostAttachedBytes || len(out) == mostAttached {
			return nil, &site.Fault{Status: http.StatusRequestEntityTooLarge,
				Text: "Attach at most 10 files of 700 KB in total. Put larger files in the working directory, where " +
					"the agent can read them."}
		}
		a, err := attachment(h)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// chosenFiles returns the files of a form.
func chosenFiles(r *http.Request) []*multipart.FileHeader {
	if r.MultipartForm == nil {
		return nil
	}
	return slices.DeleteFunc(r.MultipartForm.File["attach"], func(h *multipart.FileHeader) bool {
		return h.Size == 0 &&
			h.Filename == ""
	})
}

func attachment(h *multipart.FileHeader) (ahp.MessageAttachment, error) {
	none := ahp.MessageAttachment{}
	f, err := h.Open()
	if err != nil {
		return none, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostAttachedBytes+1))
	if err != nil {
		return none, err
	}
	kind, media := "document", pastedType(data)
	switch {
	case media != "":
		kind = "image"
	case utf8.Valid(data):
		media = "text/plain"
	default:
		return none, site.BadRequest("“" + h.Filename +
			"” is neither an image nor text. Put it in the working directory and mention it in your message.")
	}
	return ahp.MessageAttachment{Value: &ahp.MessageEmbeddedResourceAttachment{Label: label(h.Filename),
		DisplayKind: kind, Data: base64.StdEncoding.EncodeToString(data), ContentType: media}}, nil
}

// label returns a file's display name.
func label(name string) string {
	name = texts.CutRunes(strings.TrimSpace(name[strings.LastIndexAny(name, `/\`)+1:]), 100)
	if name == "" {
		return "file"
	}
	return name
}

// pastedType detects the media type of a picture that models and browsers read; "" for other data.
func pastedType(data []byte) string {
	switch media := http.DetectContentType(data); media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return media
	}
	return ""
}

// ShowAttachment serves GET …/attachments/{turn}/{n}: a message's attachment, never as a page.
func (p *Pages) ShowAttachment(w http.ResponseWriter, r *http.Request) error {
	_, chat, err := p.FindChat(r)
	if err != nil {
		return err
	}
	m, ok := messageOf(chat, chi.URLParam(r, "turn"))
	n, err := strconv.Atoi(chi.URLParam(r, "n"))
	if !ok || err != nil || n < 0 || n >= len(m.Attachments) {
		return site.NotFound("Attachment not found.")
	}
	data, err := p.attachedData(r, m.Attachments[n])
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	switch media := pastedType(data); {
	case media != "":
		h.Set("Content-Type", media)
	case !utf8.Valid(data):
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", "attachment")
	}
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, max-age=3600")
	_, _ = w.Write(data) // the client may have disconnected
	return nil
}

// attachedData returns an attachment's content: from the message, or from the client that published the file.
func (p *Pages) attachedData(r *http.Request, a ahp.MessageAttachment) ([]byte, error) {
	encoded := ""
	switch v := a.Value.(type) {
	case *ahp.MessageEmbeddedResourceAttachment:
		encoded = v.Data
	case *ahp.MessageResourceAttachment:
		if !ahp.OfClient(v.URI) {
			return nil, site.NotFound("This attachment has no content to show.")
		}
		got, err := p.Files.ResourceRead(r.Context(), p.CallerOf(r.Context()),
			ahp.ResourceReadParams{Channel: ahp.RootURI, URI: v.URI, Encoding: ahp.ContentEncodingBase64})
		if err != nil {
			return nil, err
		}
		encoded = got.Data
	default:
		return nil, site.NotFound("This attachment has no content to show.")
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, site.NotFound("The attachment can't be read.")
	}
	return data, nil
}

// messageOf returns the message of a turn.
func messageOf(chat *ahp.ChatState, turn string) (ahp.Message, bool) {
	if a := chat.ActiveTurn; a != nil && a.ID == turn {
		return a.Message, true
	}
	if i := turnIndex(chat, turn); i >= 0 {
		return chat.Turns[i].Message, true
	}
	return ahp.Message{}, false
}

func turnIndex(chat *ahp.ChatState, turn string) int {
	for i := len(chat.Turns) - 1; i >= 0; i-- {
		if chat.Turns[i].ID == turn {
			return i
		}
	}
	return -1
}

// queued returns a queued message.
func queued(chat *ahp.ChatState, id string) (ahp.Message, bool) {
	for _, m := range chat.QueuedMessages {
		if m.ID == id {
			return m.Message, true
		}
	}
	return ahp.Message{}, false
}
