package host

import (
	"encoding/json"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// commandsLike offers the commands of a session's agent whose names begin so.
func (h *Host) commandsLike(session ahp.URI, query string, end int64) []ahp.CompletionItem {
	items := []ahp.CompletionItem{}
	for _, c := range h.Commands(session) {
		if len(items) < mostCompletions && strings.HasPrefix(strings.ToLower(c.Name), strings.ToLower(query)) {
			items = append(items, commandItem(c, end))
		}
	}
	return items
}

// commandItem carries what a picker tells besides the name; the attachment is for people alone. Editors drop an item
// without the keys command and description.
func commandItem(c agent.SlashCommand, end int64) ahp.CompletionItem {
	about, err := json.Marshal(c)
	if err != nil {
		about = nil
	}
	name := CommandTrigger + c.Name
	meta := ahp.Meta{"ahphub/command": about, "command": encodeString(c.Name),
		"description": encodeString(c.Description)}
	if c.Hint != "" {
		meta["argumentHint"] = encodeString(c.Hint)
	}
	return ahp.CompletionItem{InsertText: name + " ", RangeStart: ahp.Ptr(int64(0)), RangeEnd: &end,
		Attachment: ahp.MessageAttachment{Value: &ahp.SimpleMessageAttachment{Label: name, DisplayKind: "command",
			Meta: meta}}}
}

// Commands are those of a session's agent: as it named them here, or when it last ran.
func (h *Host) Commands(session ahp.URI) []agent.SlashCommand {
	if l := h.turns.liveIf(session); l != nil {
		l.mu.Lock()
		running, ok := l.agent.(agent.Commander)
		l.mu.Unlock()
		if ok {
			return running.Commands()
		}
	}
	e := h.core.Catalogue.Alive(session)
	if e == nil {
		return nil
	}
	if b, ok := h.agents.Get(e.Summary.Provider).(agent.Commander); ok {
		return b.Commands()
	}
	return nil
}
