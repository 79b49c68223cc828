package chat

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

const mostCompletions = 20 // completions that a page shows

// completion is one completion for the composer's script. From and To count UTF-16 code units, as scripts do.
type completion struct {
	Label string `json:"label"`
	Hint  string `json:"hint,omitempty"`
	Text  string `json:"text"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	File  string `json:"file,omitempty"` // attached to the message
}

// CompleteMessage serves GET …/complete?text=&at=: completions of the word at the caret.
func (p *Pages) CompleteMessage(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	uri, ok := site.ChatByID(p.SessionState(v.Session), chi.URLParam(r, "chat"))
	if !ok {
		return live.ErrGone
	}
	text := r.FormValue("text")
	at, err := strconv.ParseInt(r.FormValue("at"), 10, 64)
	if err != nil || !utf8.ValidString(text) {
		return site.BadRequest("Send the text before the caret.")
	}
	res, err := p.Host.Completions(r.Context(), p.CallerOf(r.Context()), ahp.CompletionsParams{Channel: uri,
		Kind: ahp.CompletionItemKindUserMessage, Text: text, Offset: at})
	if err != nil {
		return err
	}
	out := []completion{}
	for _, item := range res.Items[:min(len(res.Items), mostCompletions)] {
		out = append(out, completionOf(item, at))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(w).Encode(out)
}

func completionOf(item ahp.CompletionItem, at int64) completion {
	o := completion{Label: strings.TrimSpace(item.InsertText), Text: item.InsertText, From: at, To: at}
	if item.RangeStart != nil {
		o.From = *item.RangeStart
	}
	if item.RangeEnd != nil {
		o.To = *item.RangeEnd
	}
	switch a := item.Attachment.Value.(type) {
	case *ahp.SimpleMessageAttachment:
		var command struct{ Description, Hint string }
		_ = json.Unmarshal(a.Meta["ahphub/command"], &command) // optional
		o.Hint = strings.TrimSpace(command.Hint + "  " + command.Description)
	case *ahp.MessageResourceAttachment:
		o.File = a.URI
		o.Label = strings.TrimPrefix(o.Label, "@")
	}
	return o
}

// mentioned returns the files inserted by completions whose names are still in the text.
func mentioned(files []string, text string) (out []ahp.MessageAttachment) {
	for _, uri := range files {
		path := part.FilePath(uri)
		if !strings.HasPrefix(uri, "file:///") || len(out) == mostAttached {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if name != "" && strings.Contains(text, name) {
			out = append(out, ahp.MessageAttachment{Value: &ahp.MessageResourceAttachment{Label: name, URI: uri,
				DisplayKind: "document"}})
		}
	}
	return out
}
