package review

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

const (
	mostEditLines = 400 // changed lines of a file that a card shows at first; the rest takes a click
	mostEditFiles = 50  // shown files of a tool call
)

// ShowEdits serves GET …/edits/{call}: the changes of a tool call, proposed or made, as in the review. A script
// gets only this part.
func (p *Pages) ShowEdits(w http.ResponseWriter, r *http.Request) error {
	m, err := p.callEdits(r, "")
	if err != nil {
		return err
	}
	return p.sendEdits(w, r, m)
}

// ShowEditsFile serves GET …/edits/{call}/file/{file}: one whole file, however long.
func (p *Pages) ShowEditsFile(w http.ResponseWriter, r *http.Request) error {
	m, err := p.callEdits(r, chi.URLParam(r, "file"))
	if err != nil {
		return err
	}
	if len(m.Files) == 0 {
		return site.NotFound("This tool call no longer changes that file.")
	}
	if site.IsFragment(r) {
		return site.Send(w, http.StatusOK, part.DiffBody(&m.Files[0],
			part.DiffView{Syntax: part.SyntaxFor(m.Files[0].Rows())}))
	}
	return p.sendEdits(w, r, m)
}

func (p *Pages) sendEdits(w http.ResponseWriter, r *http.Request, m part.Edits) error {
	m.Style = p.Assets.Path("css/review.css")
	if site.IsFragment(r) {
		return site.Send(w, http.StatusOK, part.EditsPart(m))
	}
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	f, _, _, err := p.SessionFrame(r, v, "chat")
	if err != nil {
		return err
	}
	if err := p.ShowPeople(r.Context(), v, &f, chi.URLParam(r, "chat")); err != nil {
		return err
	}
	f.Styles = append(f.Styles, "css/edits.css")
	return site.Send(w, http.StatusOK, page.EditsPage(f, m))
}

// callEdits compares the files of a tool call. If only is set, it compares just that file.
func (p *Pages) callEdits(r *http.Request, only string) (part.Edits, error) {
	v, chat, err := p.FindChat(r)
	if err != nil {
		return part.Edits{}, err
	}
	call := chi.URLParam(r, "call")
	tool, ok := toolOf(chat, call)
	if !ok {
		return part.Edits{}, site.NotFound("Tool call not found in this chat.")
	}
	base := "/s/" + v.Short + "/c/" + chi.URLParam(r, "chat")
	m := part.Edits{Back: base + "#tool-" + call, Title: tool.DisplayName}
	b := newBuilder(p, p.CallerOf(r.Context()), look{short: v.Short, session: v.Session})
	dirs := p.SessionState(v.Session).WorkingDirectories
	for _, e := range tool.Edits() {
		f := ahp.ChangesetFile{ID: part.SideURI(e.Before, e.After), Edit: e}
		if only != "" && part.DiffKey(f.ID) != only {
			continue
		}
		if len(m.Files) == mostEditFiles {
			m.More++
			continue
		}
		d := built{DiffFile: part.DiffFile{ID: f.ID, Base: base + "/edits/" + call, Query: "whole"}}
		describe(&d.DiffFile, &f, dirs)
		if err := b.edit(r, &d, &f, only != ""); err != nil {
			return m, err
		}
		m.Files = append(m.Files, d.DiffFile)
	}
	return m, nil
}

// edit compares the kept versions of a file. Unless whole is set, it folds a long change.
func (b *builder) edit(r *http.Request, d *built, f *ahp.ChangesetFile, whole bool) error {
	if !kept(f.Edit.Before) || !kept(f.Edit.After) {
		d.Note = "The exact changes are no longer available."
	}
	if d.Note == "" && !b.mayRead(r, f) { // checked first: the cache has comparisons made for others
		d.Note = "You don't have access to this file."
	}
	b.compare(r.Context(), d, f, true)
	d.OldURL, d.NewURL = "", "" // only the review shows pictures
	if n := d.Add + d.Del; !whole && d.Diff != nil && n > mostEditLines {
		d.Diff, d.Fold = nil, part.Count(n)+" changed lines"
	}
	if whole && d.Fold != "" && d.Note == "" {
		return b.whole(r, d, f)
	}
	return nil
}

// mayRead reports whether the reader may read both versions of a file.
func (b *builder) mayRead(r *http.Request, f *ahp.ChangesetFile) bool {
	for _, s := range []*ahp.FileEditSide{f.Edit.Before, f.Edit.After} {
		if s != nil && b.p.Host.CheckVersion(r.Context(), b.caller, s.Content.URI) != nil {
			return false
		}
	}
	return true
}

// whole compares a file without a limit.
func (b *builder) whole(r *http.Request, d *built, f *ahp.ChangesetFile) error {
	old, new, err := b.versions(r.Context(), f)
	if err != nil {
		return err
	}
	d.Diff, d.Fold = diff.Compute(old, new, diff.Options{Path: d.Path}), ""
	return nil
}

// kept reports whether a side's content is a stored version instead of the current file.
func kept(s *ahp.FileEditSide) bool { return s == nil || !strings.HasPrefix(s.Content.URI, "file:") }

// toolOf finds a tool call, starting with the newest turn.
func toolOf(chat *ahp.ChatState, id string) (part.Tool, bool) {
	if a := chat.ActiveTurn; a != nil {
		if t, ok := toolIn(a.ResponseParts.Slice(), id); ok {
			return t, true
		}
	}
	for i := len(chat.Turns) - 1; i >= 0; i-- {
		if t, ok := toolIn(chat.Turns[i].ResponseParts, id); ok {
			return t, true
		}
	}
	return part.Tool{}, false
}

func toolIn(list []ahp.ResponsePart, id string) (part.Tool, bool) {
	for _, rp := range list {
		if c, ok := rp.Value.(*ahp.ToolCallResponsePart); ok {
			if t := part.ToolOf(c.ToolCall); t.ToolCallID == id {
				return t, true
			}
		}
	}
	return part.Tool{}, false
}
