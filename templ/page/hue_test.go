package page

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/texts"
)

// A person has the same color in links, members and terminals as in the list of people online.
func TestPersonHasOneColorOnEveryPage(t *testing.T) {
	const id = "person:7"
	want := "face hue-" + strconv.Itoa(texts.Hue(id))
	for name, c := range map[string]templ.Component{
		"link":      LinkCard(time.Now(), &ShareLink{ID: "l", People: []SharePerson{{ID: id, Name: "Ben"}}}),
		"member":    memberCard(&Member{ID: id, Name: "Ben", Role: "member"}),
		"terminals": TerminalTabs(Terminals{List: []TerminalLine{{Running: true, Holder: "Ben", HolderID: id}}}),
	} {
		var b strings.Builder
		if err := c.Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if got := regexp.MustCompile(`class="(face[^"]*)"`).FindStringSubmatch(b.String()); got == nil || got[1] != want {
			t.Errorf("%s: the face is %q, want %q", name, got, want)
		}
	}
}
