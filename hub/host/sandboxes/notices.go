package sandboxes

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/texts"
)

const longestNotice = 1000 // bytes

// Tell reports in a session what happened to programs in one of its sandboxes, such as reaching a
// limit: in running turns, and on the session's page until the next notice.
func (p *Part) Tell(box, text string) {
	for _, further := range p.cfg.FurtherBoxes {
		box = strings.TrimSuffix(box, further)
	}
	session, ok := p.core.SessionByShort(box)
	if !ok {
		return
	}
	text = texts.CutBytes(sentence(text), longestNotice)
	// While the journal cannot be written, as on a full disk, only the log and the terminals report
	// it.
	if err := p.core.Hub.Do(func(tx *hub.Tx) { p.tell(tx, session, text) }); err != nil {
		p.core.Log.Warn("a session is not told what happened to its programs", "session", session, "err", err)
	}
}

func (p *Part) tell(tx *hub.Tx, session ahp.URI, text string) {
	e := p.core.Catalogue.Alive(session)
	if e == nil {
		return
	}
	next := *e
	next.Notice = text
	p.core.Save(tx, &next)
	s, ok := hub.StateOf[*ahp.SessionState](tx, session)
	if !ok {
		return
	}
	for _, c := range s.Chats {
		if chat, ok := hub.StateOf[*ahp.ChatState](tx, c.Resource); ok && chat.ActiveTurn != nil {
			tx.Apply(c.Resource, &ahp.ChatResponsePartAction{TurnID: chat.ActiveTurn.ID,
				Part: ahp.ResponsePart{Value: &ahp.SystemNotificationResponsePart{Content: ahp.Plain(text)}}})
		}
	}
}

// sentence capitalizes the first letter of a text.
func sentence(text string) string {
	first, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[n:]
}

// Notice returns the last notice of a session, or "".
func (p *Part) Notice(session ahp.URI) string {
	if e := p.core.Catalogue.Alive(session); e != nil {
		return e.Notice
	}
	return ""
}
