package host

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/worktrees"
	"github.com/ahphub/ahphub/hub/texts"
)

const (
	mostCompletions = 50
	mostCandidates  = 100_000         // files searched
	completionTime  = 2 * time.Second // timeout; then nothing is offered
)

// Triggers of completions: @ for files of the session, / for commands of its agent.
const (
	CompletionTrigger = "@"
	CommandTrigger    = "/"
)

// Completions handles completions: after @, files of the session's directories; after / at the
// start of the text, commands of its agent. Results that take too long are omitted (AHP requirement
// 119).
func (h *Host) Completions(ctx context.Context, c core.Caller, p ahp.CompletionsParams) (ahp.CompletionsResult, error) {
	none := ahp.CompletionsResult{Items: []ahp.CompletionItem{}}
	info, known := h.core.Hub.Info(p.Channel)
	switch {
	case (!known || !c.Audience().Sees(info)) && strings.HasPrefix(p.Channel, "ahp-chat:"):
		return none, core.NoChannel(p.Channel)
	case !known || !c.Audience().Sees(info): // AHP requirement 67
		return none, core.NoSession(p.Channel)
	case info.Kind != ahp.ChannelChat && info.Kind != ahp.ChannelSession: // VS Code asks the session
		return none, core.BadParams(
			"channel: %s is neither a session nor a chat: completions are for what is written there", p.Channel)
	}
	if err := c.MayCall("completions", info); err != nil {
		return none, err
	}
	units := utf16.Encode([]rune(p.Text))
	if !utf8.ValidString(p.Text) || p.Offset < 0 || p.Offset > int64(len(units)) {
		return none, core.BadParams("offset: %d is outside of the text, which has %d UTF-16 code units", p.Offset,
			len(units))
	}
	if p.Kind != ahp.CompletionItemKindUserMessage {
		return none, nil
	}
	if query, asked := strings.CutPrefix(string(utf16.Decode(units[:p.Offset])), CommandTrigger); asked {
		if none.Items = h.commandsLike(info.Session, query, p.Offset); len(none.Items) > 0 {
			return none, nil
		} // a command's arguments may name a file
	}
	start, query, asked := mention(units[:p.Offset])
	if !asked {
		return none, nil
	}
	for _, f := range h.filesLike(ctx, c, info.Session, query) {
		none.Items = append(none.Items, f.item(int64(start), p.Offset))
	}
	return none, nil
}

// mention returns the @ word before the cursor, and its start.
func mention(before []uint16) (start int, query string, ok bool) {
	for i := len(before) - 1; i >= 0; i-- {
		switch r := rune(before[i]); {
		case r == '@' && (i == 0 || isSpace(rune(before[i-1]))):
			return i, string(utf16.Decode(before[i+1:])), true
		case isSpace(r):
			return 0, "", false
		}
	}
	return 0, "", false
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// match is a file that matches the query; a lower rank is better.
type match struct {
	path, name string
	rank       int
}

func (m match) item(start, end int64) ahp.CompletionItem {
	return ahp.CompletionItem{InsertText: CompletionTrigger + m.name + " ", RangeStart: &start, RangeEnd: &end,
		Attachment: ahp.MessageAttachment{Value: &ahp.MessageResourceAttachment{Label: filepath.Base(m.path),
			URI: core.FileURI(m.path), DisplayKind: "document"}}}
}

func (h *Host) filesLike(ctx context.Context, c core.Caller, session ahp.URI, query string) (found []match) {
	e, svc := h.core.Catalogue.Alive(session), h.git
	if e == nil || svc == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	dirs := core.LocalPaths(e.Summary.WorkingDirectories)
	files, err := svc.Files(ctx, session, dirs, mostCandidates)
	if err != nil {
		h.core.Log.Debug("files to complete are missing", "session", session, "err", err)
	}
	if files, err = h.Files.GuestNames(ctx, c, files); err != nil {
		h.core.Log.Debug("files to complete are not offered to a guest", "session", session, "err", err)
		return nil
	}
	query = strings.ToLower(query)
	for _, path := range files {
		name := nameIn(dirs, path)
		if rank, ok := fits(strings.ToLower(name), query); ok {
			found = append(found, match{path, name, rank})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(a.rank-b.rank, len(a.name)-len(b.name), strings.Compare(a.name, b.name))
	})
	return openMatches(found, func(path string) string { return h.whyClosed(ctx, session, path) })
}

// openMatches returns the best matches that are not closed.
func openMatches(all []match, whyClosed func(path string) string) (open []match) {
	for _, m := range all {
		if len(open) == mostCompletions {
			break
		}
		if whyClosed(m.path) == "" {
			open = append(open, m)
		}
	}
	return open
}

// nameIn returns a path relative to the first directory that contains it.
func nameIn(dirs []string, path string) string {
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return path
}

// fits ranks how well a name matches a query.
func fits(name, query string) (rank int, ok bool) {
	base := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case strings.HasPrefix(base, query):
		return 0, true
	case strings.HasPrefix(name, query):
		return 1, true
	case strings.Contains(base, query):
		return 2, true
	}
	return 3, strings.Contains(name, query)
}

// SessionConfigCompletions handles sessionConfigCompletions: it returns a setting's values that
// match the query.
func (h *Host) SessionConfigCompletions(ctx context.Context, c core.Caller,
	p ahp.SessionConfigCompletionsParams) (ahp.SessionConfigCompletionsResult, error) {
	none := ahp.SessionConfigCompletionsResult{Items: []ahp.SessionConfigValueItem{}}
	if err := c.MayCall("sessionConfigCompletions", core.RootInfo); err != nil {
		return none, err
	}
	backend, err := h.agents.Find(p.Provider)
	if err != nil {
		return none, err
	}
	setting, ok := h.schemaOf(backend).Properties[p.Property]
	if !ok {
		return none, core.BadParams("property: this agent has no setting %.80q", p.Property)
	}
	for i, raw := range setting.Enum {
		item := ahp.SessionConfigValueItem{Value: plainText(raw), Description: at(setting.EnumDescriptions, i)}
		item.Label = cmp.Or(at(setting.EnumLabels, i), item.Value)
		if strings.Contains(strings.ToLower(item.Label+"\n"+item.Value), strings.ToLower(p.Query)) {
			none.Items = append(none.Items, item)
		}
	}
	if p.Property == worktrees.BaseKey && setting.EnumDynamic != nil {
		none.Items = append(none.Items, h.refsLike(ctx, p.WorkingDirectory, p.Query)...)
	}
	none.Items = none.Items[:min(len(none.Items), mostCompletions)]
	return none, nil
}

// refsLike returns refs at which a worktree of a directory can start, the newest first. Results
// that take too long are omitted (AHP requirement 119).
func (h *Host) refsLike(ctx context.Context, dir ahp.URI, query string) (items []ahp.SessionConfigValueItem) {
	path, ok := core.FilePath(cmp.Or(dir, core.FileURI(h.cfg.DefaultDir)))
	svc := h.git
	if !ok || svc == nil || len(query) > core.MaxTitle {
		return nil
	}
	if h.whyClosed(ctx, "", path) != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	refs, err := svc.Refs(ctx, "", path, query, mostCompletions)
	if err != nil {
		h.core.Log.Debug("branches are not offered", "dir", path, "err", err)
	}
	for _, r := range refs {
		items = append(items, ahp.SessionConfigValueItem{Value: r.Name, Label: r.Name,
			Description: texts.CutBytes(r.About, core.MaxTitle)})
	}
	return items
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// plainText returns a JSON string without its quotes, and any other value as JSON.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
