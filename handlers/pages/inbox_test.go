package pages_test

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/handlers/pages"
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
)

// boxing is a fake of sandboxes.
type boxing struct {
	site.Sandboxes
	usual, boxed bool
}

func (b *boxing) IsUsual() bool              { return b.usual }
func (b *boxing) IsSandboxed(_ ahp.URI) bool { return b.boxed }

// Rows show only an unusual sandbox; one line says so if sessions are not sandboxed by default.
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

// A notice about the programs in a session's sandbox is shown in the running turn, and afterwards on the page.
func TestSessionSaysWhatHappenedToItsPrograms(t *testing.T) {
	s := open(t)
	base, _, _, _ := s.held()
	if page := s.get(base); strings.Contains(page, `id="box-notice"`) {
		t.Errorf("nothing happened, and the page says\n%s", page)
	}
	s.host.Sandboxes.Tell("000000000000", "not this session's")
	s.host.Sandboxes.Tell(strings.TrimPrefix(base, "/s/")+".guests", "disk quota: <b>programs</b> were ended")
	page := s.until(base, `id="box-notice"`)
	const want = "Disk quota: &lt;b&gt;programs&lt;/b&gt; were ended"
	if strings.Count(page, want) != 2 || strings.Contains(page, "not this session") {
		t.Errorf("it is to be said in the turn and in the session's information:\n%s", page)
	}
}
