package inbox

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
)

// AnswerFiles grants or denies a client's request for files.
func (p *Pages) AnswerFiles(w http.ResponseWriter, r *http.Request) error {
	do := r.PostFormValue("do")
	if do != "allow" && do != "deny" {
		return site.BadRequest("Choose an action: allow or deny.")
	}
	a, err := p.Files.AnswerFileAsk(p.CallerOf(r.Context()), chi.URLParam(r, "ask"), do == "allow")
	if err != nil {
		return err
	}
	audit.Detail(r.Context(), map[string]string{"allow": "allowed", "deny": "denied"}[do]+" "+a.Name+" to "+
		site.AskVerb(a.Write)+" "+a.Path)
	return site.FinishForm(w, r, "/")
}

// addFileAsks adds requests for files before the sessions that need a decision.
func (p *Pages) addFileAsks(c core.Caller, l *page.InboxList) {
	asks := p.FileAsks(c)
	if len(asks) == 0 {
		return
	}
	if len(l.Groups) == 0 || l.Groups[0].Name != site.NeedsYou {
		l.Groups = append([]page.InboxGroup{{Name: site.NeedsYou}}, l.Groups...)
	}
	l.Groups[0].Files, l.Needs = asks, l.Needs+len(asks)
}
