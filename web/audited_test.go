package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
)

// Every form is audited or listed as not audited with a reason. A row of either table without a
// form fails, too.
func TestEveryFormIsAuditedOrExempt(t *testing.T) {
	forms := map[string]bool{}
	audited, notAudited := audit.Forms()
	for _, route := range access.Routes() {
		forms[route] = true
	}
	x := newSite(t, func(c *Config) { c.Unsubscribe = func(http.ResponseWriter, *http.Request) {} })
	_ = chi.Walk(x.s.routes().(chi.Routes),
		func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
			if method == http.MethodPost && route != "/ahp" && route != "/mcp" && route != "/assets/*" &&
				route != "/undecided" {
				forms[method+" "+route] = true
			}
			return nil
		})
	for form := range forms {
		word, why := audited[form], notAudited[form]
		switch {
		case word != "" && why != "":
			t.Errorf("%s is in both tables", form)
		case strings.HasPrefix(form, "POST ") && word == "" && why == "":
			t.Errorf("%s is not written down, and without a reason: give it a row in hub/audit/words_forms.go", form)
		}
	}
	for _, table := range []map[string]string{audited, notAudited} {
		for form, words := range table {
			if !forms[form] && form != "POST /signin/oidc" { // exists without a provider, too
				t.Errorf("%s is no form any more: take its row away", form)
			}
			if len(words) < 5 || strings.HasSuffix(words, ".") {
				t.Errorf("%s has the words %q", form, words)
			}
		}
	}
}
