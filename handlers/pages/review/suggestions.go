package review

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/review"
	"github.com/ahphub/ahphub/templ/part"
)

// ApplySuggestions applies suggestions to the working tree or as a commit.
func (p *Pages) ApplySuggestions(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	var refs []threads.SuggestionRef
	var threads []string
	for _, s := range r.PostForm["ref"] {
		ref, ok := parseSuggestionRef(s)
		if !ok {
			return site.BadRequest("Suggestion not found. Reload the page and try again.")
		}
		refs, threads = append(refs, ref), append(threads, ref.Thread)
	}
	apply := p.Reviews.ApplySuggestions
	if r.PostForm.Get("do") == "commit" {
		apply = p.Reviews.CommitSuggestions
	}
	if err := apply(r.Context(), p.CallerOf(r.Context()), v.Session, refs); err != nil {
		return err
	}
	if err := p.readMentions(r.Context(), v, threads); err != nil {
		return err
	}
	to := l.base() + "/threads?state=all"
	if len(refs) == 1 {
		to += "#thread-" + url.PathEscape(refs[0].Thread)
	}
	return site.FinishForm(w, r, to)
}

// suggestionRef encodes a suggestion for a form.
func suggestionRef(thread, entry string, n int) string {
	return url.PathEscape(thread) + "/" + url.PathEscape(entry) + "/" + strconv.Itoa(n)
}

func parseSuggestionRef(s string) (ref threads.SuggestionRef, ok bool) {
	f := strings.Split(s, "/")
	if len(f) != 3 {
		return ref, false
	}
	var err [3]error
	ref.Thread, err[0] = url.PathUnescape(f[0])
	ref.Entry, err[1] = url.PathUnescape(f[1])
	ref.N, err[2] = strconv.Atoi(f[2])
	return ref, err == [3]error{}
}

// pieces splits a comment with suggestions; quote is the text of its lines.
func pieces(t *part.Thread, e *part.Entry, quote string) []part.Piece {
	if !strings.Contains(e.Text, "suggestion") {
		return nil
	}
	parts := review.Parts(e.Text)
	var out []part.Piece
	n, any := 0, false
	for _, x := range parts {
		if !x.Suggest {
			out = append(out, part.Piece{Text: x.Text})
			continue
		}
		any = true
		out = append(out, part.Piece{Suggest: part.NewSuggestion(suggestionRef(t.ID, e.ID, n), quote, x.Lines)})
		n++
	}
	if !any {
		return nil
	}
	return out
}
