package host

import (
	"encoding/json"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// commandsLike returns the commands of a session's agent whose names start with query.
func (h *Host) commandsLike(session ahp.URI, query string, end int64) []ahp.CompletionItem {
	items := []ahp.CompletionItem{}
	for _, c := range h.Commands(session) {
		if len(items) < mostCompletions && strings.HasPrefix(strings.ToLower(c.Name), strings.ToLower(query)) {
			items = append(items, commandItem(c, end))
		}
	}
	return items
}

// commandItem returns a command's completion, with details for pickers. Editors drop items without
// the keys command and description. The attachment is only for display.
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

// Commands returns the commands of a session's agent: from the running agent if there is one,
// otherwise from its last run.
func (h *Host) Commands(session ahp.URI) []agent.SlashCommand {
	if l := h.turns.findRuntime(session); l != nil {
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
