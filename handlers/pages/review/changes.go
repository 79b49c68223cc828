package review

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// review reads the states of a look and builds its model, with this person's own parts. Comparing happens here,
// outside of the feed's lock.
func (p *Pages) review(r *http.Request, v site.Visit, l look) (*page.Changes, string, error) {
	var states live.States
	if err := p.Prepare(r.Context(), v.Who, l.changeset()); err != nil {
		return nil, "", err
	}
	p.awaitFiles(r.Context(), l.changeset())
	mark, err := p.Live.Draw(r.Context(), v.Who, l.room(), func(_ live.Room, s live.States) { states = s.Copy() })
	if err != nil {
		return nil, "", err
	}
	b := newBuilder(p, p.CallerOf(r.Context()), l)
	m, _, err := b.draw(r.Context(), states)
	if err != nil {
		return nil, "", err
	}
	if c, err := r.Cookie("wrap"); err == nil {
		m.Wrap = c.Value == "on"
	}
	return m, mark, p.personal(r.Context(), m, l, v.Who)
}

const patience = 700 * time.Millisecond

// awaitFiles waits briefly for a first comparison, so that most pages arrive complete; the others are filled later.
func (p *Pages) awaitFiles(ctx context.Context, uri ahp.URI) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if cs, ok := hub.StateOf[*ahp.ChangesetState](p.Hub, uri); !ok || cs.Status != ahp.ChangesetStatusComputing {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// away returns why the machine with the files is unreachable; "" when it is reachable.
func (b *builder) away(s *ahp.SessionState) string {
	switch name, online := b.p.MachineOf(s.Provider); {
	case online:
		return ""
	case b.p.MachineComesBack(s.Provider):
		return name + " is offline. These are its changes as they were seen last: read them, comment and give verdicts. Reverting and " +
			"committing work again when " + name + " is back."
	}
	return "The machine of this session was revoked. Its changes as they were seen last can be read and commented on."
}

// draw builds the shared model from states.
func (b *builder) draw(ctx context.Context, states live.States) (*page.Changes, []built, error) {
	cs, _ := states[b.look.changeset()].(*ahp.ChangesetState)
	ann, _ := states[b.look.annotations()].(*ahp.AnnotationsState)
	s, _ := states[b.look.session].(*ahp.SessionState)
	if cs == nil || s == nil {
		return nil, nil, live.ErrGone
	}
	if ann == nil {
		ann = &ahp.AnnotationsState{}
	}
	away := b.away(s)
	if away != "" { // operations need the machine
		still := *cs
		still.Operations, cs = nil, &still
	}
	dirs := s.WorkingDirectories
	threads := threadsOf(ann, b.p.Reviews.Review(b.look.session).People, b.look.base(), dirs)
	sent := b.p.sent(ctx, b.look.short)
	for i := range threads {
		threads[i].Sent = sent[threads[i].ID]
	}
	files, err := b.files(ctx, cs, dirs, threads)
	if err != nil {
		return nil, nil, err
	}
	m := b.model(files, cs, s, threads)
	m.Digest = seenDigest(b.look, cs)
	m.Away, m.Late = away != "", cmp.Or(away, m.Late)
	for i := range threads {
		if !threads[i].Resolved && !threads[i].Sent {
			m.Unsent++
		}
	}
	return m, files, nil
}

// Show serves GET /s/{session}/changes.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	if r.URL.Query().Get("as") == "patch" {
		return p.patch(w, r, v, l)
	}
	m, mark, err := p.review(r, v, l)
	if err != nil {
		return err
	}
	f := p.ReviewFrame(r, v, "Changes", "changes")
	p.follow(r.Context(), v, &f, l.scope, mark)
	return site.Send(w, http.StatusOK, page.ChangesPage(f, m))
}

// patch returns the changes as a file for git apply, optionally with the comments.
func (p *Pages) patch(w http.ResponseWriter, r *http.Request, v site.Visit, l look) error {
	data, err := p.Changes.Patch(r.Context(), p.CallerOf(r.Context()), l.changeset())
	if err != nil {
		return err
	}
	if r.URL.Query().Get("comments") != "" {
		if data, err = p.commented(r, v, l, data); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/x-patch; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+l.short+`.patch"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(data) // the client may have disconnected
	return nil
}

// follow makes a page follow its own room, the session's head, the viewers, and the rail if it has one.
func (p *Pages) follow(ctx context.Context, v site.Visit, f *part.Frame, in, mark string) {
	if in != "" {
		f.Session.Part = site.ChangesPart + in
	}
	marks := []string{mark}
	names := []string{"session:" + v.Short}
	if f.Rail != nil {
		names = append(names, "rail")
	}
	for _, name := range names {
		if m, err := p.Live.Draw(ctx, v.Who, name, func(live.Room, live.States) {}); err == nil {
			marks = append(marks, m)
		}
	}
	f.Live = live.Query(marks...)
	_ = p.ShowPeople(ctx, v, f, in) // on an error the page shows what it has
}

// ShowFile serves one whole file: for huge ones, and for commenting without JavaScript. A script gets only its body.
func (p *Pages) ShowFile(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	m, mark, err := p.review(r, v, l)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(m.Files, func(f part.DiffFile) bool { return f.Key() == chi.URLParam(r, "file") })
	if i < 0 {
		return site.NotFound("This file is no longer among the changes.")
	}
	file := m.Files[i]
	if file.Fold != "" {
		if err := p.unfold(r, l, &file); err != nil {
			return err
		}
	}
	if site.IsFragment(r) {
		return site.Send(w, http.StatusOK,
			part.DiffBody(&file, part.DiffView{Split: l.split, Syntax: part.SyntaxFor(file.Rows())}))
	}
	file.Shut = false
	m.Comment = page.CommentAt(&file, r.URL.Query().Get("comment"))
	f := p.ReviewFrame(r, v, file.Path, "changes")
	p.follow(r.Context(), v, &f, l.scope, mark)
	m.View.Syntax = part.SyntaxFor(file.Rows())
	return site.Send(w, http.StatusOK, page.FilePage(f, m, &file))
}

// unfold compares a file that a review folds.
func (p *Pages) unfold(r *http.Request, l look, d *part.DiffFile) error {
	f, err := p.fileOf(r.Context(), l, d.Key())
	if err != nil {
		return err
	}
	b := newBuilder(p, p.CallerOf(r.Context()), l)
	old, new, err := b.versions(r.Context(), f)
	if err != nil {
		return err
	}
	d.Diff, d.Fold = diff.Compute(old, new, diff.Options{Path: d.Path, Space: l.space}), ""
	d.Add, d.Del = d.Diff.Additions, d.Diff.Deletions
	return nil
}

// fileOf finds a file of the changeset by its key.
func (p *Pages) fileOf(ctx context.Context, l look, key string) (*ahp.ChangesetFile, error) {
	if err := p.Prepare(ctx, access.FromContext(ctx), l.changeset()); err != nil {
		return nil, err
	}
	p.awaitFiles(ctx, l.changeset()) // after a restart, a form may arrive before the files
	cs, ok := p.StateFor(access.FromContext(ctx), l.changeset()).(*ahp.ChangesetState)
	if !ok {
		return nil, live.ErrGone
	}
	for i := range cs.Files {
		if part.DiffKey(cs.Files[i].ID) == key {
			return &cs.Files[i], nil
		}
	}
	return nil, site.NotFound("This file is no longer among the changes. Reload the page.")
}

// ShowContext serves the rows of a gap that the reader opened.
func (p *Pages) ShowContext(w http.ResponseWriter, r *http.Request) error {
	_, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	from, to := atoi(q.Get("from")), atoi(q.Get("to"))
	if from < 1 || to < from {
		return site.BadRequest("Give the lines to show: from and to.")
	}
	f, err := p.fileOf(r.Context(), l, q.Get("file"))
	if err != nil {
		return err
	}
	b := newBuilder(p, p.CallerOf(r.Context()), l)
	old, new, err := b.versions(r.Context(), f)
	if err != nil {
		return err
	}
	d := part.DiffFile{ID: f.ID, Base: l.base() + "/changes", Query: l.query()}
	describe(&d, f, p.SessionState(l.session).WorkingDirectories)
	o := diff.Options{Path: d.Path, Space: l.space}
	d.Diff = &diff.File{OldLines: lineCount(old), NewLines: lineCount(new)} // for the width of the line numbers
	return site.Send(w, http.StatusOK, part.DiffContext(&d, diff.ContextRows(old, new, o, from, to),
		part.DiffView{Split: l.split}))
}

// ShowImage serves a picture of one side, with the media type of its bytes, never as a page.
func (p *Pages) ShowImage(w http.ResponseWriter, r *http.Request) error {
	_, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	f, err := p.fileOf(r.Context(), l, r.URL.Query().Get("file"))
	if err != nil {
		return err
	}
	side := f.Edit.After
	if r.URL.Query().Get("side") == "before" {
		side = f.Edit.Before
	}
	b := newBuilder(p, p.CallerOf(r.Context()), l)
	data, err := b.read(r.Context(), side)
	if err != nil {
		return err
	}
	media := ""
	if side != nil {
		media = pictureType(part.FilePath(side.URI), data)
	}
	if media == "" {
		return site.NotFound("This image can't be shown.")
	}
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, max-age=3600")
	_, _ = w.Write(data) // the client may have disconnected
	return nil
}

func lineCount(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}
