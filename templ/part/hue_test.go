package part

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/texts"
)

// A person's comments, verdicts and position in the list of people online have the same color.
func TestPersonHasOneColour(t *testing.T) {
	const id = "member-7"
	var b strings.Builder
	at := Person{ID: id, Name: "Ben", Hue: texts.Hue(id)}
	for _, c := range []templ.Component{ThreadEntry(&Thread{ID: "t"}, &Entry{ID: "e", By: "Ben", ByID: id}, true), PresencePart([]Person{at}),
		verdictItem("/s/x", &Verdict{By: "Ben", ByID: id, Kind: "approve"})} {
		if err := c.Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	faces := regexp.MustCompile(`class="(?:who|face) (hue-\d)`).FindAllStringSubmatch(b.String(), -1)
	if len(faces) < 3 {
		t.Fatalf("%d faces in %s", len(faces), b.String())
	}
	for _, f := range faces {
		if f[1] != "hue-"+strconv.Itoa(texts.Hue(id)) {
			t.Errorf("a face has the colour %s, another h%d", f[1], texts.Hue(id))
		}
	}
}
