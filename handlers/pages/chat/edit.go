package chat

import (
	"io"
	"net/http"
	"strconv"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/part"
)

// editing fills the composer with a message of the transcript, to edit and resend.
func editing(chat *ahp.ChatState, turn string) *part.Editing {
	i := turnIndex(chat, turn)
	if i < 0 || chat.ActiveTurn != nil {
		return nil
	}
	m := chat.Turns[i].Message
	return &part.Editing{Turn: turn, Text: m.Text, Later: len(chat.Turns) - 1 - i, Attached: len(m.Attachments)}
}

// resend truncates a chat before a turn, whose message is then sent again. The form has the number
// of later turns that the page showed: newer turns are never removed unseen.
func (p *Pages) resend(r *http.Request, f chatForm, chat *ahp.ChatState, m *ahp.Message) error {
	turn := r.PostForm.Get("edit")
	i := turnIndex(chat, turn)
	if i < 0 {
		return site.NotFound("The message you edited no longer exists.")
	}
	later := len(chat.Turns) - 1 - i
	if chat.ActiveTurn != nil {
		return site.Refused("a turn is running. Stop it or wait until it ends before you edit a message")
	}
	if n, err := strconv.Atoi(r.PostForm.Get("later")); err != nil || n != later {
		return site.Refused("the chat has continued since. Open the message again to see what the edit would remove")
	}
	m.Attachments = append(m.Attachments, chat.Turns[i].Message.Attachments...)
	cut := &ahp.ChatTruncatedAction{}
	if i > 0 {
		cut.TurnID = chat.Turns[i-1].ID
	}
	return p.Act(r.Context(), f.chat, cut)
}

// Fork serves POST …/fork: it creates a chat that starts with a copy of the turns up to a given one.
func (p *Pages) Fork(w http.ResponseWriter, r *http.Request) error {
	f, err := p.chatForm(w, r)
	if err != nil {
		return err
	}
	chat := core.NewChatURI()
	err = p.Host.CreateChat(r.Context(), p.CallerOf(r.Context()), ahp.CreateChatParams{Channel: f.Session, Chat: chat,
		Source: &ahp.ChatSource{Value: &ahp.ForkChatSource{Chat: f.chat, TurnID: r.PostForm.Get("turn")}}})
	if err != nil {
		return err
	}
	http.Redirect(w, r, "/s/"+f.Short+"/c/"+part.Tail(chat), http.StatusSeeOther)
	return nil
}

// forks reports whether an agent supports forks.
func (p *Pages) forks(provider string) bool {
	for _, a := range p.Agents() {
		if a.Provider == provider {
			return a.Capabilities != nil && a.Capabilities.MultipleChats != nil &&
				a.Capabilities.MultipleChats.Fork != nil && *a.Capabilities.MultipleChats.Fork
		}
	}
	return false
}

// markdown serves GET …?as=md: the conversation as Markdown, or one answer of it.
func (p *Pages) markdown(w http.ResponseWriter, r *http.Request) error {
	v, chat, err := p.FindChat(r)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/markdown; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if turn := r.FormValue("turn"); turn != "" {
		i := turnIndex(chat, turn)
		if i < 0 {
			return site.NotFound("Turn not found in this chat.")
		}
		_, _ = w.Write([]byte(part.Answer(chat.Turns[i].ResponseParts))) // the client may have disconnected
		return nil
	}
	id := part.Tail(chat.Resource)
	h.Set("Content-Disposition", `attachment; filename="`+v.Short+"-"+id+`.md"`)
	_, err = io.WriteString(w, "# "+site.EscapeInline(site.SessionTitle(chat.Title))+"\n\n<"+site.OriginOf(r)+"/s/"+
		v.Short+"/c/"+id+">\n")
	for _, t := range turnsOf(chat, "", "") {
		if err != nil {
			break // the client disconnected
		}
		_, err = io.WriteString(w, "\n"+t.Transcript())
	}
	return nil
}
