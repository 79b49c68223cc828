package pages

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

const mostQuoted = 16 << 10 // bytes of a command's output that go into a message: its end is what tells

// command finds what a terminal's shell told of one command.
func (p *Pages) command(v visit, terminal, id string) (*ahp.TerminalCommandPart, error) {
	uri, err := p.terminalURI(v, terminal)
	if err != nil {
		return nil, err
	}
	state, _, _ := p.Hub.State(uri)
	if s, ok := state.(*ahp.TerminalState); ok {
		for _, c := range s.Content {
			if v, ok := c.Value.(*ahp.TerminalCommandPart); ok && part.Tail(v.CommandID) == id {
				return v, nil
			}
		}
	}
	return nil, errNotFound("The terminal has forgotten this command: its scrollback is bounded.")
}

// commandOutput is GET …/commands/{command}: what a command printed, as plain text.
func (p *Pages) commandOutput(w http.ResponseWriter, r *http.Request) error {
	v, err := p.visit(r)
	if err != nil {
		return err
	}
	if err := p.prepareTerminal(r, v); err != nil {
		return err
	}
	c, err := p.command(v, chi.URLParam(r, "terminal"), chi.URLParam(r, "command"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, err = w.Write([]byte(plainOutput(c)))
	return err
}

func (p *Pages) prepareTerminal(r *http.Request, v visit) error {
	uri, err := p.terminalURI(v, chi.URLParam(r, "terminal"))
	if err != nil {
		return err
	}
	return p.prepare(r.Context(), v.who, uri)
}

// plainOutput is what a command printed without escape sequences and without the empty lines around it.
func plainOutput(c *ahp.TerminalCommandPart) string {
	return strings.Trim(strings.TrimRight(part.PlainTerminal(c.Output.String()), " \t\r\n"), "\r\n")
}

// quotedCommand is a command with the end of its output as a block of a message, named "<terminal>.<command>".
func (p *Pages) quotedCommand(r *http.Request, v visit, name string) (string, error) {
	terminal, id, _ := strings.Cut(name, ".")
	uri, err := p.terminalURI(v, terminal)
	if err != nil {
		return "", err
	}
	if err := p.prepare(r.Context(), v.who, uri); err != nil {
		return "", err
	}
	c, err := p.command(v, terminal, id)
	if err != nil {
		return "", err
	}
	return quoteCommand(c), nil
}

// quoteCommand fences a command and its output; the fence is longer than any within.
func quoteCommand(c *ahp.TerminalCommandPart) string {
	text := plainOutput(c)
	if len(text) > mostQuoted {
		text = text[len(text)-mostQuoted:]
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
		text = "…\n" + strings.ToValidUTF8(text, "")
	}
	text = "$ " + c.CommandLine + "\n" + text
	if c.ExitCode != nil && *c.ExitCode != 0 {
		text += "\n[exit " + strconv.FormatInt(*c.ExitCode, 10) + "]"
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "console\n" + text + "\n" + fence + "\n"
}
