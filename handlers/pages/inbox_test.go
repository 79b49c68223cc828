package pages_test

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/handlers/pages"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
)

// boxing is what a test says of sandboxes.
type boxing struct {
	site.Sandboxes
	usual, boxed bool
}

func (b *boxing) IsUsual() bool              { return b.usual }
func (b *boxing) IsSandboxed(_ ahp.URI) bool { return b.boxed }

// Rows say of their sandbox only what is unusual; one line says what is usual where that is none.
func TestInboxMarksOnlyUnusualSandboxes(t *testing.T) {
	b := &boxing{}
	s := open(t, func(d *pages.Deps) { b.Sandboxes, d.Sandboxes = d.Sandboxes, b })
	base, chat := s.session()
	s.say(chat, "say hello")
	s.until(base, "hello")
	for _, test := range []struct {
		usual, boxed bool
		mark         string
	}{
		{false, false, ""},
		{false, true, `class="status boxed"`},
		{true, true, ""},
		{true, false, `class="status unboxed"`},
	} {
		b.usual, b.boxed = test.usual, test.boxed
		inbox := s.get("/")
		if strings.Count(inbox, `id="unboxed"`) != map[bool]int{false: 1}[test.usual] {
			t.Errorf("usual %t: the line is shown wrongly:\n%s", test.usual, inbox)
		}
		for _, mark := range []string{`class="status boxed"`, `class="status unboxed"`} {
			if strings.Contains(inbox, mark) != (mark == test.mark) {
				t.Errorf("usual %t, session %t: %s is shown wrongly:\n%s", test.usual, test.boxed, mark, inbox)
			}
		}
	}
}
