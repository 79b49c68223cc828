package page

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

// An agent's sign is before its name, and not read out, because the name is.
func TestAgentsHaveTheirSigns(t *testing.T) {
	m := New{Frame: part.Frame{Asset: func(name string) string { return "/" + name }},
		Signs:  map[string]string{"mine": "M<"},
		Agents: []ahp.AgentInfo{{Provider: "mine", DisplayName: "My agent"}, {Provider: "shell", DisplayName: "Shell"}}}
	var b strings.Builder
	if err := NewPage(m).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	html := b.String()
	before, _, _ := strings.Cut(html, "My agent")
	if strings.Count(html, `class="sign"`) != 1 ||
		!strings.Contains(before, `<span class="sign" aria-hidden="true">M&lt;</span>`) {
		t.Errorf("the agents are drawn as %s", html)
	}
}
