package review

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/hub/version"
	"github.com/ahphub/ahphub/templ/part"
)

// FindPlace finds the lines of a permalink, which names the version of the file that it was made on: it returns where
// they are in the changeset now, in that file or in one that has them.
func (p *Pages) FindPlace(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	side, from, to, ok := part.ParseWhere(q.Get("at"))
	if !ok || from == 0 || !machine.IsOID(q.Get("v")) {
		return site.BadRequest("This link is broken. It doesn't name lines of a version.")
	}
	if err := p.Prepare(r.Context(), v.Who, l.changeset()); err != nil {
		return err
	}
	cs, isSet := p.StateFor(v.Who, l.changeset()).(*ahp.ChangesetState)
	if !isSet {
		return live.ErrGone
	}
	b := newBuilder(p, p.CallerOf(r.Context()), l)
	place := part.Place{Side: side, From: from, To: to}
	old := b.text(r.Context(), &ahp.FileEditSide{Content: ahp.ContentRef{URI: version.Ref{Session: l.short,
		OID: q.Get("v"), Path: "/x"}.URI()}})
	b.locate(r.Context(), cs, q.Get("file"), old, &place)
	return site.Send(w, http.StatusOK, part.PlaceNote(place))
}

// mostLooked bounds the files that are searched for lines whose own file is not in the changeset any more.
const mostLooked = 200

// locate finds the current position of lines of an old version.
func (b *builder) locate(ctx context.Context, cs *ahp.ChangesetState, key string, old []string, at *part.Place) {
	was := review.Range{From: at.From, To: at.To}
	f := fileByKey(cs, key)
	if f == nil && len(old) >= was.To {
		f = b.holder(ctx, cs, strings.Join(old[was.From-1:was.To], "\n"), was)
	}
	if f == nil {
		at.Gone = true
		return
	}
	at.File = part.DiffKey(f.ID)
	lines := b.text(ctx, versionSide(f, at.Side))
	now, state := was, review.Exact
	switch {
	case old != nil:
		now, state = review.Reanchor(old, lines, was)
	case was.To > len(lines):
		state = review.Outdated
	default:
		at.Unknown = true
	}
	if state == review.Outdated {
		at.Gone, at.Quote = true, quoted(old, was)
		return
	}
	at.Now, at.NowTo = now.From, now.To
}

func quoted(lines []string, r review.Range) string {
	if r.To > len(lines) {
		return ""
	}
	return strings.Join(lines[r.From-1:min(r.To, r.From+19)], "\n")
}

func versionSide(f *ahp.ChangesetFile, side part.Side) *ahp.FileEditSide {
	if side == part.Before {
		return f.Edit.Before
	}
	return f.Edit.After
}

// fileByKey returns the file of a key, or the file that was renamed from it.
func fileByKey(cs *ahp.ChangesetState, key string) *ahp.ChangesetFile {
	for i := range cs.Files {
		if part.DiffKey(cs.Files[i].ID) == key {
			return &cs.Files[i]
		}
	}
	for i := range cs.Files {
		if b := cs.Files[i].Edit.Before; b != nil && part.DiffKey(b.URI) == key {
			return &cs.Files[i]
		}
	}
	return nil
}

// holder returns the first file that contains the lines now.
func (b *builder) holder(ctx context.Context, cs *ahp.ChangesetState, text string,
	near review.Range) *ahp.ChangesetFile {
	for i := range cs.Files[:min(len(cs.Files), mostLooked)] {
		f := &cs.Files[i]
		if f.Edit.After == nil {
			continue
		}
		if _, state := review.Find(b.text(ctx, f.Edit.After), text, near); state != review.Outdated {
			return f
		}
	}
	return nil
}

// PathOf returns the path of a changeset's file by its key; "" when there is none.
func (p *Pages) PathOf(session, changeset ahp.URI, key string) string {
	if key == "" || changeset == "" {
		return ""
	}
	cs, _ := hub.StateOf[*ahp.ChangesetState](p.Hub, changeset)
	if cs == nil {
		return ""
	}
	i := slices.IndexFunc(cs.Files, func(f ahp.ChangesetFile) bool { return part.DiffKey(f.ID) == key })
	if i < 0 {
		return ""
	}
	var d part.DiffFile
	describe(&d, &cs.Files[i], p.SessionState(session).WorkingDirectories)
	return d.Path
}

// Locate returns the changeset of a scope and the address of its page.
func (p *Pages) Locate(ctx context.Context, v site.Visit, scope string) (changeset ahp.URI, href string, err error) {
	l, err := p.resolveScope(ctx, v.Who, look{short: v.Short, session: v.Session, scope: scope})
	if err != nil {
		return "", "", err
	}
	return l.changeset(), l.page(), nil
}

// FindChangeset returns the changeset of a scope, if the visitor may see it.
func (p *Pages) FindChangeset(ctx context.Context, v site.Visit, scope string) (ahp.URI, error) {
	l := look{short: v.Short, session: v.Session, scope: scope}
	_, err := p.resolveScope(ctx, v.Who, l)
	return l.changeset(), err
}

// OfferedScopes lists the scopes of changesets that a session offers.
func (p *Pages) OfferedScopes(s *ahp.SessionState) (scopes []string) {
	for _, k := range kinds {
		if offered(s.Changesets, k.key) {
			scopes = append(scopes, k.key)
		}
	}
	return scopes
}
