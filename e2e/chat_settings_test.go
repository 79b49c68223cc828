package e2e

import (
	"fmt"
	"testing"
)

// pick selects an option as a person does.
func (p *Page) pick(selector, value string) {
	p.t.Helper()
	Eval[bool](p, fmt.Sprintf(
		"(s => { s.value = %q; return s.dispatchEvent(new Event('change', { bubbles: true })) "+
			"})(document.querySelector(%q))", value, selector))
}

// Model, mode and approval settings are beside the composer, for all viewers; the agent gets
// changes.
func TestComposerSettings(t *testing.T) {
	t.Parallel()
	p, b, ana, dir := withChatAgent(t)
	begin(p, ana, dir, "hello")
	ana.WaitText("#turns", "given: code small | hello")
	ana.Wait("document.querySelector('#setting-model')")
	ana.pick("#setting-model", "large")
	ana.pick("#setting-mode", "plan")
	other := b.Page()
	other.SignIn(p)
	other.Open(Eval[string](ana, "location.href"))
	other.Live()
	other.Wait("document.querySelector('#setting-model').value === 'large' && " +
		"document.querySelector('#setting-mode').value === 'plan'")
	ana.Fill("#message", "and now")
	ana.Press("\r")
	ana.WaitText("#turns", "given: plan large | and now")

	other.pick("#setting-approval", "auto")
	ana.Wait("document.querySelector('#setting-approval').value === 'auto' && " +
		"document.querySelector('#setting-approval').classList.contains('bad')")
	ana.Pictures("settings", "#settings")

	// The form of a new session has them too, now that the agent ran, and changes with the selected
	// agent.
	ana.Open(p.URL + "/new")
	ana.Wait("document.querySelector('#config [name=\"config.model\"]')")
	ana.Click("input[name=agent][value=shell]")
	ana.Wait("!document.querySelector('#config [name=\"config.model\"]') && document.querySelector('#config')")
	ana.Pictures("new", "#config")
}
