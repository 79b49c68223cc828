package chat

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// stepsShown is the number of a turn's steps on one page.
const stepsShown = 100

// ShowText serves GET …/text?turn=…: one text of a turn from an offset (part, from), or some of its steps (step).
// The chat's page links here where it shows less.
func (p *Pages) ShowText(w http.ResponseWriter, r *http.Request) error {
	v, chat, err := p.FindChat(r)
	if err != nil {
		return err
	}
	f, head, sess, err := p.SessionFrame(r, v, "chat")
	if err != nil {
		return err
	}
	id := chi.URLParam(r, "chat")
	t, ok := turnOf(chat, r.FormValue("turn"), head.Base()+"/c/"+id, firstDir(chat, sess))
	if !ok {
		return site.NotFound("Turn not found in this chat.")
	}
	m, err := textOf(t, r.Form)
	if err != nil {
		return err
	}
	if err := p.ShowPeople(r.Context(), v, &f, id); err != nil {
		return err
	}
	f.Styles = append(f.Styles, "css/markdown.css", "css/chat.css")
	return site.Send(w, http.StatusOK, page.TextPage(f, m))
}

// turnOf finds a turn by its id, including the running one.
func turnOf(chat *ahp.ChatState, id, base, dir string) (*part.Turn, bool) {
	turns := turnsOf(chat, base, dir)
	for i := range turns {
		if turns[i].ID == id {
			turns[i].Measure()
			return &turns[i], true
		}
	}
	return nil, false
}

// textOf returns the requested piece of a turn.
func textOf(t *part.Turn, q url.Values) (page.Text, error) {
	m := page.Text{Back: t.Base + "#turn-" + t.ID}
	here := t.Base + "/text?turn=" + url.QueryEscape(t.ID)
	if q.Has("step") {
		from, err := strconv.Atoi(q.Get("step"))
		if err != nil || from < 0 || from >= len(t.Parts) {
			return m, site.NotFound("Step not found in this turn.")
		}
		m.Steps, m.From, m.To = t, from, min(from+stepsShown, len(t.Parts))
		m.Where = fmt.Sprintf("Steps %s to %s of %s", part.Count(from+1), part.Count(m.To), part.Count(len(t.Parts)))
		m.First, m.Next = link(from > 0, here+"&step=0"), link(m.To < len(t.Parts), here+"&step="+strconv.Itoa(m.To))
		return m, nil
	}
	i, err := strconv.Atoi(q.Get("part"))
	if err != nil || i < -1 || i >= len(t.Parts) {
		return m, site.NotFound("Text not found in this turn.")
	}
	text, markdown := t.WholeText(i)
	from, _ := strconv.Atoi(q.Get("from")) // 0 if absent
	from = min(max(from, 0), len(text))
	here += "&part=" + strconv.Itoa(i)
	m.Piece = part.PieceOfText(text, markdown, from)
	m.Where = fmt.Sprintf("From %s of %s", part.Size(int64(from)), part.Size(int64(len(text))))
	m.First, m.Next = link(from > 0, here), link(m.Piece.Next > 0, here+"&from="+strconv.Itoa(m.Piece.Next))
	return m, nil
}

// link returns the address if there is content at it, else "".
func link(there bool, href string) string {
	if !there {
		return ""
	}
	return href
}

// ShowAgentLog serves GET …/log: the agent's latest log lines while it works on an answer, for viewers who manage the
// session.
func (p *Pages) ShowAgentLog(w http.ResponseWriter, r *http.Request) error {
	v, _, err := p.FindChat(r)
	if err != nil {
		return err
	}
	chat, _ := site.ChatByID(p.SessionState(v.Session), chi.URLParam(r, "chat")) // found by FindChat
	text := strings.Join(p.Host.AgentLog(chat), "\n")
	if text == "" {
		text = "The agent has logged nothing, or has answered."
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, text) // the client may have disconnected
	return nil
}
