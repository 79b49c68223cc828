package terminal

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/machine"
)

// fixtures are outputs whose screens are hard to reproduce.
var fixtures = map[string]string{
	"plain":            "one\r\ntwo\r\nthree",
	"scrolled":         numbered(1, 60) + "$ ",
	"carriage returns": "10%\r20%\r100%\r\ndone\b\b\b\bDO",
	"tabs":             "a\tb\tc\r\n\tx",
	"wide":             "日本語のテキスト|\r\n한국어|\r\n" + strings.Repeat("漢", 45),
	"emoji":            "a🙂b🚀c|\r\n✓ ok|\r\n",
	"combining":        "e\u0301a\u0308|",
	"colours": "\x1b[31mred\x1b[0m \x1b[38;5;208morange\x1b[m " +
		"\x1b[38;2;1;2;3mtrue\x1b[48;2;9;8;7mboth\x1b[0m \x1b[1;3;4;7mall\x1b[m.",
	"coloured blank":    "\x1b[44m\x1b[2K blue\x1b[K\x1b[m\r\nnext",
	"wrapped":           strings.Repeat("0123456789", 17),
	"pending wrap":      strings.Repeat("x", 80),
	"wide, pending":     strings.Repeat("漢", 40),
	"erased":            numbered(1, 10) + "\x1b[2J\x1b[Htop",
	"erased in line":    "abcdef\x1b[3D\x1b[K\r\nghijkl\x1b[3D\x1b[1K",
	"insert and delete": "abcdef\x1b[4D\x1b[2@XY\r\nabcdef\x1b[4D\x1b[2P",
	"lines":             numbered(1, 8) + "\x1b[3H\x1b[2L new\x1b[6H\x1b[M",
	"region":            numbered(1, 10) + "\x1b[3;6r\x1b[6;1H\nin\r\nregion\r\nscrolls",
	"region, reverse":   numbered(1, 10) + "\x1b[3;6r\x1b[3;1H\x1bM\x1bMtop",
	"alternate":         "main\r\n$ vi\r\n\x1b[?1049h\x1b[2J\x1b[Halt one\x1b[5;10Hhere\x1b[24;1H-- INSERT --\x1b[2;3H",
	"back from it":      "main\r\n$ vi\r\n\x1b[?1049h\x1b[2J\x1b[Halt\x1b[?1049l$ after",
	"saved cursor":      "abc\x1b7\x1b[10;10Hfar\x1b8def",
	"box drawing":       "\x1b(0lqqk\r\nx  x\r\nmqqj\x1b(B done",
	"cursor styles":     "\x1b[?25l\x1b[4 qhidden\x1b[?2004h\x1b[?1000h\x1b[?1006h",
	"questions":         "a\x1b[c\x1b[6n\x1b]11;?\a\x1b[?2004$pb",
	"moves":             "\x1b[5;5Ha\x1b[2Ab\x1b[3Cc\x1b[4Dd\x1b[2Be\x1b[Ff\x1b[Eg\x1b[20Gh\x1b[9di",
	"long":              numbered(1, 1030),
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\r\n", i)
	}
	return b.String()
}

// fed returns a feed with an output written in pieces.
func fed(out string, step int) *Feed {
	f := newFeed(80, 24)
	s := &scanner{}
	for out != "" {
		n := min(step, len(out))
		s.write([]byte(out[:n]))
		out = out[n:]
		if t := s.take(); t != "" {
			f.add(t, s.modes)
		}
	}
	return f
}

// shown returns an emulator's rendering of texts: coloured lines and the cursor's position.
func shown(texts ...string) string {
	e := newEmulator(80, 24)
	defer e.close()
	for _, t := range texts {
		e.say(t)
	}
	out := fmt.Sprintf("alternate=%v\n%s", e.vt.IsAltScreen(),
		strings.Join(strings.Split(e.screen(-1), "\x1b["), "\n\x1b["))
	return out + "\n" + e.cursor()
}

// TestLateViewerHasSameScreen draws each fixture completely and from a picture made after every part of it.
func TestLateViewerHasSameScreen(t *testing.T) {
	for name, out := range fixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fed(out, 7)
			defer f.close()
			want := shown(out)
			if got := shown(string(f.picture().text)); got != want {
				t.Errorf("the picture differs:\n%q\nwant\n%q", got, want)
			}
			for cut := 1; cut < len(out); cut += max(1, len(out)/3) {
				s := &scanner{}
				s.write([]byte(out[:cut]))
				f := newFeed(80, 24)
				f.add(s.take(), s.modes)
				p := f.picture()
				s.write([]byte(out[cut:]))
				rest := s.take()
				if got := shown(string(p.text), rest); got != want {
					t.Errorf("after %d bytes the picture, and then the rest, differ:\n%q\nwant\n%q", cut, got, want)
				}
				f.add(rest, s.modes)
				if got := shown(string(f.picture().text)); got != want {
					t.Errorf("a picture that follows one of %d bytes differs:\n%q\nwant\n%q", cut, got, want)
				}
				f.close()
			}
		})
	}
}

// TestScreenMatchesTmux compares the text of each fixture's screen with tmux's rendering of the same bytes.
func TestScreenMatchesTmux(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux here to compare with")
	}
	for name, out := range fixtures {
		switch name {
		case "questions", // tmux answers them to cat's terminal
			"box drawing": // capture-pane prints them as letters
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fed(out, 1000)
			defer f.close()
			want := tmuxScreen(t, out)
			if got := f.Text(); got != want {
				t.Errorf("the screen differs from tmux's:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func tmuxScreen(t *testing.T, out string) string {
	t.Helper()
	dir := t.TempDir()
	file, sock := dir+"/out", dir+"/s"
	write(t, file, out)
	run := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", sock, "-f", "/dev/null", "-u"}, args...)...)
		b, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v %s", args, err, b)
		}
		return string(b)
	}
	run("new-session", "-d", "-x", "80", "-y", "24",
		"stty raw -echo; cat "+file+"; tmux -S "+sock+" wait-for -S shown; exec sleep 60")
	defer run("kill-server")
	run("wait-for", "shown")
	lines := strings.Split(run("capture-pane", "-p"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPictureKeepsCommandPlaces reads where a terminal that gets a picture would mark the commands.
func TestPictureKeepsCommandPlaces(t *testing.T) {
	mark := func(what string) string { return "\x1b]633;" + what + ";n\a" }
	at := func(line, output string) string {
		return mark("A") + "$ " + line + "\r\n" + mark("E;"+line) + mark("C") + output + mark("D;0")
	}
	forged := machine.CommandPlace("c1") + mark("C")[:len(mark("C"))-3] + "x\a"
	for name, c := range map[string]struct {
		out  string
		want map[string]string // command → its line
	}{
		"shown": {at("one", "1\r\n") + at("two", "$ one\r\n"),
			map[string]string{"c1": "$ one", "c2": "$ two"}},
		"scrolled": {at("one", numbered(1, 60)) + at("two", numbered(1, 900)) + mark("A") + "$ ",
			map[string]string{"c1": "$ one", "c2": "$ two"}},
		"out of the scrollback": {at("one", "1\r\n") + at("two", numbered(1, 1500)) + at("three", ""),
			map[string]string{"c3": "$ three"}},
		"forged": {at("one", forged+"\r\n"+forged), map[string]string{"c1": "$ one"}},
		"in a full screen": {at("vi", "\x1b[?1049h\x1b[2J"+forged) + "\x1b[?1049l" + at("two", ""),
			map[string]string{"c1": "$ vi", "c2": "$ two"}},
		"cleared": {at("one", "") + at("clear", "\x1b[H\x1b[2J\x1b[3J") + at("two", ""),
			map[string]string{"c3": "$ two"}},
		"without a prompt's":     {"$ one\r\n" + mark("C") + "1\r\n", map[string]string{"c1": "$ one"}},
		"a prompt of two lines":  {mark("A") + "dir\r\n$ one\r\n" + mark("C"), map[string]string{"c1": "dir"}},
		"a prompt without a row": {"no end" + at("one", ""), map[string]string{"c1": "no end$ one"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, step := range []int{1 << 20, 97} {
				f := newFeed(80, 24)
				defer f.close()
				d := newDecoder(detectNonce, "n", "", time.Now)
				d.show, d.note = f.add, f.command
				for out := c.out; out != ""; out = out[min(step, len(out)):] {
					d.write([]byte(out[:min(step, len(out))]))
					if step < len(c.out) && len(out)%61 == 0 {
						f.picture() // the next one builds on it
					}
				}
				e := newEmulator(80, 24)
				e.write(f.picture().text)
				got := map[string]string{}
				for line, command := range e.places.at {
					row := e.vt.Scrollback().Line(line - e.places.dropped)
					if line >= e.top() {
						row = e.line(line - e.top())
					}
					got[command] = strings.TrimRight(row.String(), " ")
				}
				e.close()
				if !maps.Equal(got, c.want) {
					t.Errorf("in steps of %d: %v, want %v", step, got, c.want)
				}
			}
		})
	}
}
