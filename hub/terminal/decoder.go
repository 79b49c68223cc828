package terminal

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/texts"
)

// Limits of what a program can report about itself.
const (
	maxTitle   = 256  // characters
	maxPath    = 4096 // bytes
	maxCommand = 8192 // bytes of a command line
)

// detection says which command marks are trusted.
type detection uint8

const (
	detectNothing detection = iota // a command of the hub: marks in its output are ignored
	detectNonce                    // our shell integration: marks need its nonce
	detectAny                      // a user's shell with an integration of its own
)

// decoder interprets the sequences of a terminal's output.
type decoder struct {
	scan   scanner
	detect detection
	nonce  string
	now    func() time.Time
	show   func(text string, m modes) // receives clean text at once; nil for none
	note   func(ahp.Action)           // receives commands at their position in the text; nil for none

	out     []ahp.Action
	title   string // as last emitted
	heard   string // newest title of this step, emitted at its end: programs may set one for every file
	cwd     ahp.URI
	ready   bool   // command detection was announced
	line    string // announced command line of the next execution
	running string // id of the executing command
	untold  bool   // not announced yet: its line may follow
	started time.Time
	count   int
}

func newDecoder(d detection, nonce, title string, now func() time.Time) *decoder {
	dec := &decoder{detect: d, nonce: nonce, now: now, title: title, heard: title}
	dec.scan.osc = dec.osc
	return dec
}

// write returns the actions for p, in order.
func (d *decoder) write(p []byte) []ahp.Action {
	d.scan.write(p)
	return d.step()
}

// finish returns the text that was held back.
func (d *decoder) finish() []ahp.Action {
	d.scan.finish()
	d.flush()
	d.finishCommand(nil)
	return d.step()
}

func (d *decoder) step() []ahp.Action {
	d.flush()
	if d.heard != d.title {
		d.title = d.heard
		d.out = append(d.out, &ahp.TerminalTitleChangedAction{Title: d.title})
	}
	out := d.out
	d.out = nil
	return out
}

func (d *decoder) flush() {
	if data := d.scan.take(); data != "" {
		d.announce()
		if d.show != nil {
			d.show(data, d.scan.modes)
		}
		d.out = append(d.out, &ahp.TerminalDataAction{Data: data})
	}
}

// say adds an action after the preceding text.
func (d *decoder) say(a ahp.Action) {
	d.flush()
	d.out = append(d.out, a)
}

// osc handles one operating system command. Titles stay in the output, because all terminals
// understand them; shell integration is removed (AHP requirement 163).
func (d *decoder) osc(payload []byte) (strip bool) {
	number, rest, _ := strings.Cut(string(payload), ";")
	switch number {
	case "0", "2":
		d.heard = cleanTitle(rest)
	case "7":
		if d.detect != detectNonce {
			d.directory(fileURLPath(rest))
		}
	case "133", "633":
		d.mark(strings.Split(rest, ";"))
	}
	return isIntegration(payload)
}

// mark handles a shell-integration mark: a letter and its fields. Ours end with the nonce.
func (d *decoder) mark(f []string) {
	switch d.detect {
	case detectNothing:
		return
	case detectNonce:
		if len(f) < 2 || f[len(f)-1] != d.nonce {
			return
		}
		f = f[:len(f)-1]
	}
	switch f[0] {
	case "A":
		d.available()
		d.place(promptPlace)
	case "B":
		d.available()
	case "E":
		d.line = unescape(field(f, 1))
		d.announce()
	case "C":
		d.startCommand(f[1:])
	case "D":
		d.finishCommand(exitCode(field(f, 1)))
	case "P":
		if path, ok := strings.CutPrefix(field(f, 1), "Cwd="); ok {
			d.directory(unescape(path))
		}
	}
}

func field(f []string, i int) string {
	if i < len(f) {
		return f[i]
	}
	return ""
}

// place marks a prompt, or the command typed at the last one, so that viewers can jump there.
func (d *decoder) place(what string) {
	if d.show != nil {
		d.flush()
		d.show(machine.CommandPlace(what), d.scan.modes)
	}
}

// available announces command detection once, when the shell's first mark proves that it works (AHP
// requirement 168).
func (d *decoder) available() {
	if !d.ready {
		d.ready = true
		d.say(&ahp.TerminalCommandDetectionAvailableAction{})
	}
}

func (d *decoder) startCommand(fields []string) {
	d.available()
	d.finishCommand(nil)
	for _, f := range fields { // fish and kitty send the line with the mark
		if v, ok := strings.CutPrefix(f, "cmdline_url="); ok && d.line == "" {
			d.line, _ = url.PathUnescape(v)
		}
	}
	d.flush()
	d.count++
	d.running, d.started, d.untold = "c"+strconv.Itoa(d.count), d.now(), true
	d.place(d.running)
	if !slices.Equal(fields, []string{"?"}) { // if history did not record the line, its text follows
		d.announce()
	}
}

func (d *decoder) announce() {
	if !d.untold {
		return
	}
	d.untold = false
	d.command(&ahp.TerminalCommandExecutedAction{
		CommandID:   d.running,
		CommandLine: texts.ElideBytes(d.line, maxCommand),
		Timestamp:   d.started.UnixMilli(),
	})
	d.line = ""
}

func (d *decoder) command(a ahp.Action) {
	if d.note != nil {
		d.note(a)
	}
	d.out = append(d.out, a)
}

func (d *decoder) finishCommand(code *int64) {
	if d.running == "" {
		return
	}
	d.announce()
	d.flush()
	d.command(&ahp.TerminalCommandFinishedAction{
		CommandID:  d.running,
		ExitCode:   code,
		DurationMs: ahp.Ptr(max(0, d.now().Sub(d.started).Milliseconds())),
	})
	d.running = ""
}

func (d *decoder) directory(path string) {
	if !filepath.IsAbs(path) || len(path) > maxPath {
		return
	}
	if uri := FileURI(path); uri != d.cwd {
		d.cwd = uri
		d.say(&ahp.TerminalCwdChangedAction{Cwd: uri})
	}
}

func exitCode(s string) *int64 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return nil
	}
	return &n
}

// FileURI returns the file: URI of an absolute path.
func FileURI(path string) ahp.URI {
	return (&url.URL{Scheme: "file", Path: filepath.Clean(path)}).String()
}

// fileURLPath returns the path of a file: URL of this machine; a remote shell (over ssh) sends its
// own host.
func fileURLPath(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "file" || !isLocal(u.Hostname()) {
		return ""
	}
	return u.Path
}

func isLocal(host string) bool {
	if host == "" || host == "localhost" {
		return true
	}
	own, err := os.Hostname()
	return err == nil && strings.EqualFold(own, host)
}

func cleanTitle(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(texts.CutRunes(s, maxTitle))
}

// unescape decodes the `\\` and `\xHH` in a mark's field, which cannot contain `;` or control
// characters.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			b.WriteByte(s[i])
		case strings.HasPrefix(s[i:], `\\`):
			b.WriteByte('\\')
			i++
		case i+4 <= len(s) && s[i+1] == 'x':
			n, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
			if err != nil {
				b.WriteByte('\\')
				continue
			}
			b.WriteByte(byte(n))
			i += 3
		default:
			b.WriteByte('\\')
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}
