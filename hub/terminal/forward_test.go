package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

// TestForwardKeepsPicture draws long outputs completely and as pictures do.
func TestForwardKeepsPicture(t *testing.T) {
	line := func(f string) string {
		var b strings.Builder
		for i := range 7000 {
			fmt.Fprintf(&b, f, i)
		}
		return b.String()
	}
	tests := map[string]struct {
		out   string
		skips bool
	}{
		"plain":                   {line("line %d\r\n") + "$ ", true},
		"coloured":                {line("\x1b[3%[1]dm%[1]d\x1b[m of many\x1b[K\r\n") + "\x1b[?2004h$ ", true},
		"a colour left on":        {"\x1b[44m" + line("line %d\r\n") + "$ ", true},
		"colours that pile up":    {"\x1b[m\x1b[44m\x1b[1m" + line("line %d\r\n") + "$ ", true},
		"no carriage returns":     {line("%d\n")[:8_000] + "\r$ ", false},
		"wide":                    {line("漢字 %d 🙂\r\n") + "$ ", true},
		"lines that wrap":         {line("%d " + strings.Repeat("0123456789", 12) + "\r\n"), true},
		"titles":                  {line("\x1b]0;title\a%d\r\n"), true},
		"then a full screen":      {line("line %d\r\n") + "\x1b[?1049h\x1b[Hvim\x1b[5;5H", true},
		"after a full screen":     {"\x1b[?1049h\x1b[Hvim\x1b[?1049l" + line("line %d\r\n") + "$ ", true},
		"a region":                {"\x1b[5;10r\x1b[5H" + line("line %d\r\n")[:15_000], false},
		"a region set in between": {line("line %d\r\n") + "\x1b[5;10r\x1b[5H" + line("line %d\r\n")[:15_000], true},
		"in a full screen":        {"\x1b[?1049h" + line("line %d\r\n")[:15_000], false},
		"line drawing":            {"\x1b(0" + line("lqk %d\r\n")[:15_000], false},
		"moves":                   {line("\x1b[H%d\r\n")[:15_000], false},
		"no wrapping":             {"\x1b[?7l" + line("line %d\r\n")[:15_000], false},
	}
	pens := map[string]string{"a colour left on": "\x1b[44m", "colours that pile up": "\x1b[44m\x1b[1m"}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fed(tc.out, 1<<13)
			defer f.close()
			if _, _, _, ok := forward(f.blocks, 24); ok != tc.skips {
				t.Errorf("skipped: %v", ok)
			}
			want := tc.out
			if cut := len(want) - len(want)/7000*1300; cut > 0 && tc.skips { // whose first lines scroll away as well
				want = pens[name] + want[cut+strings.IndexByte(want[cut:], '\n')+1:]
			}
			want = shown(want)
			if got := shown(string(f.picture().text)); got != want {
				t.Errorf("the picture differs:\n%q\nwant\n%q", got, want)
			}
		})
	}
}

// FuzzPicture checks that the screen and the text of any output can be drawn.
func FuzzPicture(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb\r\n", "\x1b[?1049h\x1b[H\x1b[2J", "\x1b]8;;http://x\x07l\x1b]8;;\x1b\\",
		"漢\x1b[1;1H\x1b[K🙂\b\r\n", "\x1b(0q\x1b(B\x1b[5;10r\x1bM",
		"\x1bP1$r\x1b\\\x1b_x\x1b\\\x1b^y\x1b\\", "\x1b[99999999999;1H\x1b[-1m\x1b[38;2;1;2m", "\x1b[?", "\x1b",
		"\x1b(", "\x1b]0;", "e\u0301\u200d\ufe0f", "\x1b[3b\x1b[2X\x1b[@\x1b[P"} {
		f.Add(s, uint8(3))
	}
	f.Add("\x1b[2\x002\x002\x002\x002\x002\x002\x002\x002\x002X\x1b[4294967295;1b\x1b[4294967295@", uint8(3))
	f.Fuzz(func(t *testing.T, text string, times uint8) {
		if len(text) > 1<<10 {
			return
		}
		feed := fed(strings.Repeat(text, 1+int(times)%40), 64)
		defer feed.close()
		feed.picture()
		feed.Text()
		forward(feed.blocks, 24)
		plainLines([]byte(text))
		pen(nil, []byte(text))
		if got := machine.PlainText(text); strings.ContainsAny(got, "\x1b\r\b") {
			t.Errorf("%q reads %q", text, got)
		}
	})
}
