package review

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/texts"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// A chat with its own directories has its own changesets. The picker then shows whose changes are displayed, and
// turns are compared across chats that share directories.

const (
	mostTurns = 200 // turns to choose from, of all chats together
	mostChats = 20  // chats whose turns can be chosen
)

// chat returns the short id and the kind of changeset of a chat's own scope.
func (l look) chat() (id, kind string, ok bool) {
	rest, ok := strings.CutPrefix(l.scope, "chat.")
	i := strings.LastIndexByte(rest, '.')
	if !ok || i < 1 {
		return "", "", false
	}
	return rest[:i], rest[i+1:], true
}

// ofChat returns the scope of a chat's own changeset.
func ofChat(c ahp.ChatSummary, kind string) string {
	return "chat." + core.ShortID(c.Resource) + "." + kind
}

// reviewedChat finds a chat with directories of its own.
func reviewedChat(s *ahp.SessionState, id string) (ahp.ChatSummary, bool) {
	i := slices.IndexFunc(s.Chats, func(c ahp.ChatSummary) bool { return core.ShortID(c.Resource) == id })
	if i < 0 || len(s.Chats[i].WorkingDirectories) == 0 {
		return ahp.ChatSummary{}, false
	}
	return s.Chats[i], true
}

// reviewedChats returns the chats open to people, up to mostChats.
func reviewedChats(s *ahp.SessionState) (out []ahp.ChatSummary) {
	for _, c := range s.Chats {
		if (c.Interactivity == "" || c.Interactivity == ahp.ChatInteractivityFull) && len(out) < mostChats {
			out = append(out, c)
		}
	}
	return out
}

// chatOfLook returns the chat with its own directories that the look shows, by its scope or by its
// turn.
func (p *Pages) chatOfLook(l look, s *ahp.SessionState) (c ahp.ChatSummary, own bool) {
	if id, _, ok := l.chat(); ok {
		return reviewedChat(s, id)
	}
	turn, ok := strings.CutPrefix(l.scope, "turn.")
	if _, to, comparing := l.turns(); comparing {
		turn, ok = to, true
	}
	if !ok {
		return c, false
	}
	for _, c := range reviewedChats(s) {
		if len(c.WorkingDirectories) > 0 && p.hasTurn(c.Resource, turn) {
			return c, true
		}
	}
	return c, false
}

func (p *Pages) hasTurn(chat ahp.URI, id string) bool {
	c, ok := hub.StateOf[*ahp.ChatState](p.Hub, chat)
	return ok && (c.ActiveTurn != nil && c.ActiveTurn.ID == id ||
		slices.ContainsFunc(c.Turns, func(t *ahp.Turn) bool { return t.ID == id }))
}

// chats offers the whole session and every chat with its own directories; nil if there is no such chat. The kind of
// changeset stays, unless it is of a turn.
func (p *Pages) chats(l look, s *ahp.SessionState) (out []page.ChatChoice) {
	kind := l.scope
	if _, k, ok := l.chat(); ok {
		kind = k
	}
	if !isKind(kind) {
		kind = "session"
	}
	address := func(scope string) string {
		to := l
		to.scope = scope
		return to.page()
	}
	now, own := p.chatOfLook(l, s)
	for _, c := range s.Chats {
		if len(c.WorkingDirectories) == 0 || c.Interactivity == ahp.ChatInteractivityHidden {
			continue
		}
		out = append(out, page.ChatChoice{Title: site.ChatTitle(c), Dirs: dirNames(c.WorkingDirectories),
			URL: address(ofChat(c, kind)), Current: own && c.Resource == now.Resource})
	}
	if len(out) == 0 {
		return nil
	}
	return append([]page.ChatChoice{{Title: "Whole session", Dirs: dirNames(s.WorkingDirectories), URL: address(kind),
		Current: !own}}, out...)
}

// dirNames returns the last parts of directories.
func dirNames(dirs []ahp.URI) string {
	var names []string
	for _, d := range dirs {
		names = append(names, part.Tail(part.FilePath(d)))
	}
	return texts.ElideRunes(strings.Join(names, ", "), mostChoice)
}

// turns returns the newest turns of the chat in the look and, before them, of the chats that share directories with
// it, oldest first, for comparing the files after them.
func (p *Pages) turns(l look, s *ahp.SessionState) (out []page.TurnChoice) {
	here, own := p.chatOfLook(l, s)
	list := reviewedChats(s)
	if i := slices.IndexFunc(list, func(c ahp.ChatSummary) bool { return c.Resource == s.DefaultChat }); !own &&
		i >= 0 {
		here = list[i]
	}
	mine := p.turnsOf(here, mostTurns)
	for _, c := range list {
		if c.Resource != here.Resource && shareDirs(c, here) {
			out = append(out, p.turnsOf(c, mostTurns-len(mine)-len(out))...)
		}
	}
	return append(out, mine...)
}

// shareDirs reports whether two chats share a directory; a chat without its own works in all of its session's.
func shareDirs(a, b ahp.ChatSummary) bool {
	return len(a.WorkingDirectories) == 0 || len(b.WorkingDirectories) == 0 ||
		slices.ContainsFunc(a.WorkingDirectories, func(d ahp.URI) bool {
			return slices.Contains(b.WorkingDirectories, d)
		})
}

func (p *Pages) turnsOf(c ahp.ChatSummary, most int) (out []page.TurnChoice) {
	chat, ok := hub.StateOf[*ahp.ChatState](p.Hub, c.Resource)
	if !ok {
		return nil
	}
	for i := max(0, len(chat.Turns)-most); i < len(chat.Turns); i++ {
		first, _, _ := strings.Cut(strings.TrimSpace(chat.Turns[i].Message.Text), "\n")
		out = append(out, page.TurnChoice{ID: chat.Turns[i].ID, Chat: site.ChatTitle(c), Label: "Turn " +
			strconv.Itoa(i+1), Text: texts.ElideRunes(first, mostChoice), Counts: changeCounts(chat.Turns[i].Usage)})
	}
	return out
}

// comparison names two turns, and their chats if these differ.
func comparison(list []page.TurnChoice, from, to string) string {
	a, b := turnChosen(list, from), turnChosen(list, to)
	if a.Chat != b.Chat && a.Chat != "" && b.Chat != "" {
		return a.Chat + ", " + a.Label + " to " + b.Chat + ", " + b.Label
	}
	return a.Label + " to " + b.Label
}

func turnChosen(list []page.TurnChoice, id string) page.TurnChoice {
	for _, t := range list {
		if t.ID == id {
			return t
		}
	}
	return page.TurnChoice{Label: "A turn"}
}
