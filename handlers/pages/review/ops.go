package review

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// opsOf returns the operations of a changeset for its page.
func opsOf(cs *ahp.ChangesetState) (out []page.Op) {
	for _, o := range cs.Operations {
		op := page.Op{ID: o.ID, Label: o.Label, Title: o.Description,
			Off:     o.Status == ahp.ChangesetOperationStatusDisabled,
			Running: o.Status == ahp.ChangesetOperationStatusRunning}
		if o.Confirmation != nil {
			op.Confirm = o.Confirmation.Text
		}
		if o.Error != nil {
			op.Problem = site.Sentence(o.Error.Message)
		}
		out = append(out, op)
	}
	return out
}

// fileOpsOf returns the operations that can be applied to one file.
func fileOpsOf(cs *ahp.ChangesetState) (out []part.FileOp) {
	for _, o := range cs.Operations {
		if offersLines(cs, o.ID) && slices.Contains(o.Scopes, ahp.ChangesetOperationScopeResource) {
			out = append(out, part.FileOp{ID: o.ID, Label: o.Label, Confirm: o.Confirmation != nil})
		}
	}
	return out
}

// offersLines reports whether a page shows an operation's buttons at files and hunks. In a git repository, discard
// replaces revert, which would leave staged changes behind.
func offersLines(cs *ahp.ChangesetState, id string) bool {
	switch id {
	case "stage", "unstage", "discard":
		return true
	case "revert":
		return !slices.ContainsFunc(cs.Operations, func(o ahp.ChangesetOperation) bool { return o.ID == "discard" })
	}
	return false
}

// RunOperation serves the form of every operation: op names it, file and at are its target, message and name
// are for a commit and a branch.
func (p *Pages) RunOperation(w http.ResponseWriter, r *http.Request) error {
	v, l, err := p.prepareLook(r)
	if err != nil {
		return err
	}
	if err := p.Prepare(r.Context(), v.Who, l.changeset()); err != nil {
		return err
	}
	p.awaitFiles(r.Context(), l.changeset())
	cs, ok := p.StateFor(v.Who, l.changeset()).(*ahp.ChangesetState)
	if !ok {
		return live.ErrGone
	}
	ops := opsOf(cs)
	i := slices.IndexFunc(ops, func(o page.Op) bool { return o.ID == r.FormValue("op") })
	if i < 0 {
		return site.BadRequest("This isn't possible with these changes. Reload the page.")
	}
	audit.Detail(r.Context(), ops[i].ID)
	params, what, err := p.opParams(r, l)
	if err != nil {
		return err
	}
	ask := &page.OpAsk{Op: ops[i], Action: l.base() + "/changes/op", Back: l.page(), What: what,
		Fields: opFields(r, l), Message: r.PostFormValue("message"), Name: r.PostFormValue("name")}
	if ask.Op.Confirm != "" && r.PostFormValue("sure") != "yes" && !site.IsFragment(r) { // a script has already asked
		ask.Op.Problem = ""
		return p.askOp(w, r, v, http.StatusPreconditionRequired, ask)
	}
	res, err := p.Changes.InvokeOperation(r.Context(), p.CallerOf(r.Context()), params)
	if err != nil {
		return p.opFailed(w, r, v, ask, err)
	}
	if site.IsFragment(r) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(site.Sentence(res.Message.Text))) // the client may have disconnected
		return nil
	}
	http.Redirect(w, r, opBack(r, l), http.StatusSeeOther)
	return nil
}

// opBack returns the page to return to without JavaScript.
func opBack(r *http.Request, l look) string {
	if file := r.FormValue("file"); file != "" {
		return l.page() + "#f-" + url.PathEscape(file)
	}
	return l.page()
}

// opFields repeats the form's fields on a page that asks for confirmation.
func opFields(r *http.Request, l look) [][2]string {
	fields := [][2]string{{"q", l.query()}, {"op", r.FormValue("op")}}
	for _, name := range []string{"file", "at"} {
		if v := r.FormValue(name); v != "" {
			fields = append(fields, [2]string{name, v})
		}
	}
	return fields
}

// opFailed shows why the operation was refused, with the form to correct it.
func (p *Pages) opFailed(w http.ResponseWriter, r *http.Request, v site.Visit, ask *page.OpAsk, err error) error {
	f := site.Classify(err)
	if site.IsFragment(r) || f.Status != http.StatusConflict {
		return err
	}
	ask.Op.Problem = f.Text
	return p.askOp(w, r, v, f.Status, ask)
}

func (p *Pages) askOp(w http.ResponseWriter, r *http.Request, v site.Visit, status int, ask *page.OpAsk) error {
	ask.Frame = p.StyledFrame(r, v, ask.Op.Label, "changes")
	return site.Send(w, status, page.OpAskPage(ask))
}

// opParams builds the parameters of an operation from the form.
func (p *Pages) opParams(r *http.Request, l look) (params ahp.InvokeChangesetOperationParams, what string, err error) {
	params = ahp.InvokeChangesetOperationParams{Channel: l.changeset(), OperationID: r.FormValue("op")}
	own := map[string]string{}
	for _, name := range []string{"message", "name"} {
		if v := r.PostFormValue(name); v != "" {
			own[name] = v
		}
	}
	if len(own) > 0 {
		raw, err := json.Marshal(own)
		if err != nil {
			return params, "", err
		}
		params.Meta = ahp.Meta{"ahphub": raw}
	}
	key := r.FormValue("file")
	if key == "" {
		return params, "", nil
	}
	f, err := p.fileOf(r.Context(), l, key)
	if err != nil {
		return params, "", err
	}
	at := r.FormValue("at")
	side, from, to, ok := part.ParseWhere(at)
	if !ok {
		return params, "", site.BadRequest("Line not found. Reload the page and try again.")
	}
	what = site.RelativePath(resourceOf(f, part.After), p.SessionState(l.session).WorkingDirectories)
	params.Target = &ahp.ChangesetOperationTarget{Value: &ahp.ChangesetOperationResourceTarget{Resource: f.ID}}
	if at != "" {
		params.Target.Value = &ahp.ChangesetOperationRangeTarget{Resource: f.ID, Side: sideOf(side),
			// until the start of the next line
			Range: ahp.TextRange{Start: ahp.TextPosition{Line: int64(from - 1)},
				End: ahp.TextPosition{Line: int64(to)}}}
		what += " " + at
	}
	return params, what, nil
}

func sideOf(s part.Side) ahp.ChangesetSide {
	if s == part.Before {
		return ahp.ChangesetSideBefore
	}
	return ahp.ChangesetSideAfter
}
