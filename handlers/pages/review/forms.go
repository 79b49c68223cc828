package review

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// SaveDraft serves the comment form: it saves a draft, publishes it as a thread, or discards it.
func (p *Pages) SaveDraft(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	d := draft{ID: r.PostFormValue("draft"), Scope: l.scope, File: r.PostFormValue("file"), At: r.PostFormValue("at"),
		Text: strings.TrimSpace(r.PostFormValue("text"))}
	do := r.PostFormValue("do")
	if !isDraftID(d.ID) {
		return site.BadRequest("Draft not found. Reload the page and try again.")
	}
	if do == "discard" {
		if err := p.dropDraft(r.Context(), v.Short, v.Who, d.ID); err != nil {
			return err
		}
		return p.drafted(w, r, v, l, d, "")
	}
	if err := p.checkDraft(r.Context(), l, &d); err != nil {
		return err
	}
	if do == "comment" {
		if _, err := p.publish(r.Context(), l, d); err != nil {
			return err
		}
		if err := p.dropDraft(r.Context(), v.Short, v.Who, d.ID); err != nil {
			return err
		}
		return p.drafted(w, r, v, l, d, "")
	}
	saved, gone, err := p.storeDraft(r.Context(), v, d, r.PostFormValue("page"), atoi(r.PostFormValue("n")))
	if err != nil {
		return err
	}
	if gone {
		w.Header().Set("Draft-Gone", "yes")
	}
	return p.drafted(w, r, v, l, d, saved)
}

// isDraftID accepts "" and ids chosen by pages.
func isDraftID(id string) bool { return !strings.Contains(id, "/") && len(id) <= 64 }

// storeDraft stores a draft and returns its id; "" when a newer save came first, or the draft is gone. n numbers the
// saves of a page.
func (p *Pages) storeDraft(ctx context.Context, v site.Visit, d draft, page string,
	n int) (id string, gone bool, err error) {
	if d.ID == "" {
		d.ID = ids.New()
	}
	turn := p.draftOrder.of(draftBucket(v.Short, v.Who), d.ID)
	turn.Lock()
	defer turn.Unlock()
	list, err := p.drafts(ctx, v.Short, v.Who)
	if err != nil {
		return "", false, err
	}
	known := slices.ContainsFunc(list, func(x draft) bool { return x.ID == d.ID })
	if !known && len(list) >= mostDrafts {
		return "", false, site.BadRequest("You already have 500 drafts here. Submit or discard some first.")
	}
	if turn.gone && page == "" { // a form without a script, opened earlier: keep the text as a new draft
		d.ID = ids.New()
	} else if !turn.take(page, n) {
		return "", turn.gone, nil
	}
	return d.ID, false, p.putDraft(ctx, v.Short, v.Who, d)
}

// checkDraft fills in the file's path and the quoted lines.
func (p *Pages) checkDraft(ctx context.Context, l look, d *draft) error {
	side, from, to, ok := part.ParseWhere(d.At)
	switch {
	case !ok:
		return site.BadRequest("Line not found. Reload the page and try again.")
	case d.Text == "":
		return site.BadRequest("The comment is empty. Write something first.")
	case len(d.Text) > mostText:
		return site.BadRequest("The comment is too long. Use at most 64 KB.")
	}
	f, err := p.fileOf(ctx, l, d.File)
	if err != nil {
		return err
	}
	d.Path = site.RelativePath(resourceOf(f, side), p.SessionState(l.session).WorkingDirectories)
	if to == 0 {
		return nil
	}
	edit := f.Edit.After
	if side == part.Before {
		edit = f.Edit.Before
	}
	lines := newBuilder(p, p.CallerOf(ctx), l).text(ctx, edit)
	if from <= len(lines) {
		d.Version = edit.Content.URI
		d.Quote = strings.Join(lines[from-1:min(to, len(lines))], "\n")
	}
	return nil
}

// resourceOf returns the resource of an annotation on a side of a file.
func resourceOf(f *ahp.ChangesetFile, side part.Side) ahp.URI {
	if (side == part.Before || f.Edit.After == nil) && f.Edit.Before != nil {
		return f.Edit.Before.URI
	}
	if f.Edit.After == nil {
		return ""
	}
	return f.Edit.After.URI
}

// publish creates an annotation from a draft and returns its id.
func (p *Pages) publish(ctx context.Context, l look, d draft) (string, error) {
	look := l
	if d.Scope != "" {
		look.scope = d.Scope
	}
	f, err := p.fileOf(ctx, look, d.File)
	if err != nil {
		return "", err
	}
	side, from, to, _ := part.ParseWhere(d.At)
	own, err := json.Marshal(map[string]string{"side": string(side), "hunk": d.Quote, "version": d.Version})
	if err != nil {
		return "", err
	}
	a := ahp.Annotation{ID: ids.New(), Resource: resourceOf(f, side), Origin: p.origin(p.CallerOf(ctx).Principal, l),
		Entries: []ahp.AnnotationEntry{{ID: ids.New(), Text: ahp.Markdown(d.Text), Meta: ahp.Meta{"ahphub": own}}}}
	if to > 0 {
		a.Range = threads.LineRange(from, to)
	}
	if err := p.Prepare(ctx, p.CallerOf(ctx).Principal, l.annotations()); err != nil {
		return "", err
	}
	return a.ID, p.Act(ctx, l.annotations(), &ahp.AnnotationsSetAction{Annotation: a})
}

// origin returns the session, chat and turn of a thread.
func (p *Pages) origin(who access.Principal, l look) ahp.AnnotationOrigin {
	s := p.SessionFor(who, l.session)
	o := ahp.AnnotationOrigin{Session: l.session, Chat: s.DefaultChat}
	if c, own := p.chatOfLook(l, s); own {
		o.Chat = c.Resource
	}
	turn, ok := strings.CutPrefix(l.scope, "turn.")
	switch {
	case ok:
	case who.Scope.IsChat(): // guests of one chat see only threads about its turns
		if _, turn, ok = l.turns(); !ok {
			turn = p.lastTurn(who.Scope.URI)
		}
	default:
		return o
	}
	o.TurnID = turn
	for _, c := range s.Chats {
		if p.hasTurn(c.Resource, turn) {
			o.Chat = c.Resource
			break
		}
	}
	return o
}

// drafted answers the comment form. A script gets the draft's id and the new counts for the bar.
func (p *Pages) drafted(w http.ResponseWriter, r *http.Request, v site.Visit, l look, d draft, id string) error {
	if !site.IsFragment(r) {
		http.Redirect(w, r, l.page()+"#f-"+d.File+d.At, http.StatusSeeOther)
		return nil
	}
	list, err := p.drafts(r.Context(), v.Short, v.Who)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Draft-Count", strconv.Itoa(len(list)))
	if id != "" {
		h.Set("Draft-Id", id)
		if r.PostFormValue("show") != "" {
			d.ID = id
			return p.showDraft(w, v, l, d)
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// showDraft sends a draft as its author's page shows it once it is saved.
func (p *Pages) showDraft(w http.ResponseWriter, v site.Visit, l look, d draft) error {
	m := &page.Changes{Base: l.base(), Query: l.query(),
		MaySubmit: v.Who.Scope.IsWhole() && v.Who.Has(access.RightReview)}
	shown := pageDraft(d)
	return site.Send(w, http.StatusOK, page.DraftBox(m, &shown))
}

// running reports whether a turn runs. It reads the summary: the activity in a session's state never returns to idle.
func (p *Pages) running(session ahp.URI) bool {
	sum, _ := p.Host.Summary(session)
	a := sum.Status.Activity()
	return a == ahp.SessionStatusInProgress || a == ahp.SessionStatusInputNeeded
}

// unsent returns the ids of open threads that were not sent to an agent.
func (p *Pages) unsent(ctx context.Context, l look) []string {
	s, ok := hub.StateOf[*ahp.AnnotationsState](p.Hub, l.annotations())
	if !ok {
		return nil
	}
	sent := p.sent(ctx, l.short)
	var out []string
	for i := range s.Annotations {
		if a := &s.Annotations[i]; !a.Resolved && !sent[a.ID] {
			out = append(out, a.ID)
		}
	}
	return out
}

// publishDrafts publishes a person's drafts as threads. After a failure, the remaining ones stay drafts.
func (p *Pages) publishDrafts(ctx context.Context, v site.Visit, l look, list []draft) error {
	for _, d := range list {
		if _, err := p.publish(ctx, l, d); err != nil {
			return err
		}
		if err := p.dropDraft(ctx, v.Short, v.Who, d.ID); err != nil {
			return err
		}
	}
	return nil
}

// sendOpen sends the agent all unsent open threads, with some words before them. Without threads the words are
// not sent: some agents would take them as a command.
func (p *Pages) sendOpen(ctx context.Context, v site.Visit, l look, words string, steer bool) error {
	ids := p.unsent(ctx, l)
	if len(ids) == 0 {
		return nil
	}
	since := p.Hub.Position()
	if err := p.Host.SendAnnotations(ctx, p.CallerOf(ctx), l.session, ids, sendText(words, len(ids)),
		steer); err != nil {
		return err
	}
	if err := p.AwaitDurable(ctx, since); err != nil { // a mark without its message would prevent sending the threads
		return err
	}
	for _, id := range ids {
		if p.Docs == nil {
			break
		}
		if err := p.Docs.Put(ctx, sentBucket(v.Short), id, []byte("1")); err != nil {
			return err
		}
	}
	return nil
}

func sendText(words string, n int) string {
	ask := "Please look at this review comment."
	if n != 1 {
		ask = "Please look at these " + strconv.Itoa(n) + " review comments."
	}
	return strings.TrimSpace(words + "\n\n" + ask)
}
