package pages

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/templ/part"
)

const mostQuoted = 16 << 10 // bytes of a command's output that go into a message: its end is what tells

// command finds what a terminal's shell told of one command.
func (p *Pages) command(ctx context.Context, v visit, terminal, id string) (*ahp.TerminalCommandPart, error) {
	uri, err := p.terminalURI(v, terminal)
	if err != nil {
		return nil, err
	}
	if err := p.prepare(ctx, v.who, uri); err != nil {
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
	c, err := p.command(r.Context(), v, chi.URLParam(r, "terminal"), chi.URLParam(r, "command"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, err = w.Write([]byte(plainOutput(c)))
	return err
}

// plainOutput is what a command printed without escape sequences and without the empty lines around it.
func plainOutput(c *ahp.TerminalCommandPart) string {
	return strings.Trim(strings.TrimRight(part.PlainTerminal(c.Output.String()), " \t\r\n"), "\r\n")
}

// quoteIn puts the command that an address asks for, ?quote=<terminal>.<command>, behind what is being written.
func (p *Pages) quoteIn(r *http.Request, v visit, draft string) (string, error) {
	terminal, id, asked := strings.Cut(r.FormValue("quote"), ".")
	if !asked {
		return draft, nil
	}
	c, err := p.command(r.Context(), v, terminal, id)
	if err != nil {
		return "", err
	}
	if draft != "" {
		draft = strings.TrimRight(draft, "\n") + "\n\n"
	}
	return draft + quoteCommand(c), nil
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
