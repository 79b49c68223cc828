package machine

import "testing"

func TestPlainText(t *testing.T) {
	for raw, want := range map[string]string{
		"one\r\ntwo\r\n": "one\ntwo\n",
		"\x1b[1;31mred\x1b[m \x1b]8;;http://x\atext\a":   "red text",
		"10%\r20%\r100%\r\n":                             "100%\n",
		"long line\rshort\x1b[K\r\n":                     "short\n",
		"long line\x1b[2K\rnew":                          "new",
		"ab\b\bXY":                                       "XY",
		"wide 漢字\r\n\tx":                                 "wide 漢字\n\tx",
		"\x1b[?1049hfull\x1b[?1049l\x1bP1;2|junk\x1b\\.": "full.",
	} {
		if got := PlainText(raw); got != want {
			t.Errorf("%q reads %q, want %q", raw, got, want)
		}
	}
}
