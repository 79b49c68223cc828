package terminal

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program is a real program in a terminal, with the input to type once a text is on its screen.
type program struct {
	needs   string
	command []string
	keys    [][2]string // text to wait for, then input
	until   string      // text of the last screen
	moving  bool        // its screen changes by itself, so no two are equal
	mode    string      // sequence that must be in the picture of the last screen
}

var programs = map[string]program{
	"vim": {needs: "vim", command: []string{"vim", "-u", "NONE", "-i", "NONE", "-n", "--cmd",
		"set nocompatible laststatus=2 ruler showmode mouse=a termguicolors", "text"},
		keys: [][2]string{{"line 12", ":syntax on\r"}, {"line 12", "5GAwide 漢字 🙂 é|\x1b"}, {"wide", "Go\x1b:vsplit\r"},
			{"text [+]", "\x06\x15/line 3\r"}, {"line 3", "ihello"}},
		until: "-- INSERT --", mode: "\x1b[?1049h"},
	"less": {needs: "less", command: []string{"less", "-R", "text"},
		keys: [][2]string{{"line 12", " "}, {"line 40", "/line 9\r"}, {"line 9", "b"}}, until: "line 67",
		mode: "\x1b[?1049h"},
	"less, left again": {needs: "less", command: sh("echo before; less -R text; echo after; read x"),
		keys: [][2]string{{"line 12", "q"}}, until: "after"},
	"bash": {needs: "bash", command: []string{"bash", "--norc", "-i"},
		keys: [][2]string{{"p>", "printf '\\e[38;2;10;200;30mtrue\\e[m %s\\n' 漢字 🙂 é; seq 100\r"},
			{"100", "echo abcdef\x1b[D\x1b[D\x1b[DXY\x01\x05\r"}, {"abcXYdef", "ls -C --color=always /usr\r"},
			{"share", "echo en$((1))d"}},
		until: "echo en$((1))d", mode: "\x1b[?2004h"},
	"zsh": {needs: "zsh", command: []string{"zsh", "-f", "-i"},
		keys: [][2]string{{"p>", "PROMPT='%F{red}%~%f q> ' RPROMPT='right'\r"},
			{"q>", "echo one two\x01\x1bf\x1b[3~X\r"},
			{"X", "setopt prompt_sp; printf nonl\r"}, {"nonl", "echo do$((1))ne\r"}},
		until: "do1ne", mode: "\x1b[?2004h"},
	"tmux inside": {needs: "tmux", command: sh(
		`tmux -S "$PWD/inner" -f /dev/null -u new-session 'PS1="in> " sh' \; set -g status-right fixed \; set -g exit-unattached on \; split-window -h 'cat text; exec sleep 60'`),
		keys: [][2]string{{"line 98", "\x02o"}, {"in>", "echo i$((1))n\r"}}, until: "i1n", mode: "\x1b[?1049h"},
	"htop": {needs: "htop", command: []string{"htop", "-d", "100"}, keys: [][2]string{{"F10", "\x1bOP"}}, until: "htop",
		moving: true, mode: "\x1b[?1000h"},
	"top": {needs: "top", command: []string{"top", "-d", "100"}, keys: [][2]string{{"PID", "h"}}, until: "Help for",
		moving: true},
}

// TestRealPrograms runs programs in a terminal and compares the screen with tmux's rendering of the same bytes, and
// with the screen of a late viewer.
func TestRealPrograms(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux here to compare with")
	}
	for name, prog := range programs {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(prog.needs); err != nil {
				t.Skipf("no %s here", prog.needs)
			}
			t.Parallel()
			prog.compare(t)
		})
	}
}

func (prog program) compare(t *testing.T) {
	dir, s := t.TempDir(), newScreen()
	write(t, filepath.Join(dir, "text"), numbered(1, 98))
	p := start(t, Spec{Command: prog.command, Dir: dir, Grace: 100 * time.Millisecond,
		Env: []string{"PS1=p> ", "PROMPT=p> ", "HOME=" + dir, "TMUX=", "LC_ALL=C.UTF-8", "LESS=", "HISTFILE="}}, s)
	everything := recorder{p.Feed()}
	for _, k := range prog.keys {
		everything.until(t, p, k[0])
		if err := p.Write([]byte(k[1])); err != nil {
			t.Fatal(err)
		}
	}
	everything.until(t, p, prog.until)
	out := everything.quiet(t)
	pic := p.Feed().picture()
	if !strings.Contains(string(pic.text), prog.mode) {
		t.Errorf("%q is not among the modes: %q", prog.mode, pic.modes.String())
	}
	if !prog.moving && pic.at != int64(len(out)) {
		t.Fatalf("the screen is at %d of %d bytes", pic.at, len(out))
	}
	if got, want := drawnText(out), tmuxScreen(t, out); got != want {
		t.Errorf("the screen differs from tmux's:\n%s\nwant\n%s", got, want)
	}
	if !prog.moving {
		if got, want := shown(string(pic.text)), shown(out); got != want {
			t.Errorf("who comes late sees\n%q\nwant\n%q", got, want)
		}
	}
}

func drawnText(out string) string {
	f := fed(out, 1<<12)
	defer f.close()
	return f.Text()
}

// recorder reads a terminal's output.
type recorder struct{ feed *Feed }

// until waits for a text on the screen.
func (r recorder) until(t *testing.T, p *Process, text string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !strings.Contains(r.feed.Text(), text) {
		select {
		case <-deadline:
			t.Fatalf("waited for %q in vain; the screen is\n%s", text, r.feed.Text())
		case <-p.Done():
			t.Fatalf("it has ended:\n%s", r.feed.Text())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// quiet waits until no more output arrives, and returns the output, which must be complete.
func (r recorder) quiet(t *testing.T) string {
	t.Helper()
	for last, since := int64(-1), 0; since < 15; since++ {
		<-time.After(20 * time.Millisecond)
		r.feed.mu.Lock()
		end := r.feed.end
		r.feed.mu.Unlock()
		if end != last {
			last, since = end, 0
		}
	}
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	if r.feed.start() != 0 {
		t.Fatal("it has printed too much to compare")
	}
	var b strings.Builder
	for _, block := range r.feed.blocks {
		b.Write(block.data)
	}
	return b.String()
}

func TestTerminalEnvironment(t *testing.T) {
	s := newScreen()
	finish(t, start(t, Spec{Command: sh(`tty -s && echo "a terminal, $TERM, $COLORTERM, $(stty size)"`)}, s))
	if want := "a terminal, xterm-256color, truecolor, 24 80"; !strings.Contains(s.text(), want) {
		t.Errorf("the program sees %q", s.text())
	}
}
