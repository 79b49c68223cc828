package review

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
	"github.com/ahphub/ahphub/templ/page"
)

// ShowThreads serves all threads of a session, by state.
func (p *Pages) ShowThreads(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	m, mark, err := p.review(r, v, l)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	t := page.ThreadsOf(m, page.ThreadPick{State: q.Get("state"), Path: q.Get("file"), By: q.Get("by")})
	if v.Who.Scope.IsWhole() {
		t.Verdicts = p.Verdicts(v.Session, p.SessionState(v.Session).WorkingDirectories)
	}
	f := p.ReviewFrame(r, v, "Threads", "threads")
	p.follow(r.Context(), v, &f, "", mark)
	return site.Send(w, http.StatusOK, page.ThreadsPage(f, t))
}

// MarkSeen records how many comments of threads a person has read.
func (p *Pages) MarkSeen(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	s := p.annotations(v.Who, l)
	for _, id := range r.PostForm["thread"] {
		if a := threadIn(s, id); a != nil && p.Docs != nil {
			if err := p.Docs.Put(r.Context(), seenBucket(v.Short, v.Who), id,
				[]byte(strconv.Itoa(len(a.Entries)))); err != nil {
				return err
			}
		}
	}
	if err := p.readMentions(r.Context(), v, r.PostForm["thread"]); err != nil {
		return err
	}
	return site.FinishForm(w, r, l.page())
}

// annotations returns the threads of a session as a viewer sees them.
func (p *Pages) annotations(who access.Principal, l look) *ahp.AnnotationsState {
	s, _ := p.StateFor(who, l.annotations()).(*ahp.AnnotationsState)
	if s == nil {
		s = &ahp.AnnotationsState{}
	}
	return s
}

func threadIn(s *ahp.AnnotationsState, id string) *ahp.Annotation {
	for i := range s.Annotations {
		if s.Annotations[i].ID == id {
			return &s.Annotations[i]
		}
	}
	return nil
}

// ChangeThread changes a thread: reply, resolve, reopen, edit, delete.
func (p *Pages) ChangeThread(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	if err := p.Prepare(r.Context(), v.Who, l.annotations()); err != nil {
		return err
	}
	id, err := url.PathUnescape(chi.URLParam(r, "thread"))
	if err != nil {
		return site.BadRequest("Thread not found.")
	}
	t := threadIn(p.annotations(v.Who, l), id)
	if t == nil {
		return site.NotFound("This thread has been deleted.")
	}
	actions, err := threadActions(t, chi.URLParam(r, "verb"), r.PostFormValue("entry"),
		strings.TrimSpace(r.PostFormValue("text")), r.PostFormValue("resolve") == "true")
	if err != nil {
		return err
	}
	for _, a := range actions {
		if err := p.Act(r.Context(), l.annotations(), a); err != nil {
			return err
		}
	}
	if err := p.readMentions(r.Context(), v, []string{t.ID}); err != nil {
		return err
	}
	return site.FinishForm(w, r, l.base()+"/changes#thread-"+t.ID)
}

func threadActions(t *ahp.Annotation, verb, entry, text string, resolve bool) ([]ahp.Action, error) {
	set := func(resolved bool) ahp.Action {
		return &ahp.AnnotationsUpdatedAction{AnnotationID: t.ID, Resolved: &resolved}
	}
	switch verb {
	case "resolve":
		return []ahp.Action{set(true)}, nil
	case "reopen":
		return []ahp.Action{set(false)}, nil
	case "delete":
		return deleted(t, entry), nil
	case "reply", "edit":
		if text == "" && verb == "reply" && resolve {
			return []ahp.Action{set(true)}, nil
		}
		if text == "" {
			return nil, site.BadRequest("The comment is empty. Write something first.")
		}
	default:
		return nil, site.NotFound("Unknown action. Reload the page and try again.")
	}
	e := ahp.AnnotationEntry{ID: ids.New(), Text: ahp.Markdown(text)}
	if verb == "edit" {
		old := entryIn(t, entry)
		if old == nil {
			return nil, site.NotFound("This comment has been deleted.")
		}
		e.ID, e.Meta = old.ID, old.Meta
	}
	out := []ahp.Action{&ahp.AnnotationsEntrySetAction{AnnotationID: t.ID, Entry: e}}
	if resolve {
		out = append(out, set(true))
	}
	return out, nil
}

// deleted returns the action that removes a comment, or with the first comment the thread.
func deleted(t *ahp.Annotation, entry string) []ahp.Action {
	if len(t.Entries) == 0 || t.Entries[0].ID == entry || entry == "" {
		return []ahp.Action{&ahp.AnnotationsRemovedAction{AnnotationID: t.ID}}
	}
	return []ahp.Action{&ahp.AnnotationsEntryRemovedAction{AnnotationID: t.ID, EntryID: entry}}
}

func entryIn(t *ahp.Annotation, id string) *ahp.AnnotationEntry {
	for i := range t.Entries {
		if t.Entries[i].ID == id {
			return &t.Entries[i]
		}
	}
	return nil
}
