package terminals

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/templ/part"
)

const mostQuoted = 16 << 10 // bytes at the end of a command's output that a message quotes

// command finds a command of a terminal by the end of its id, and its output.
func (p *Pages) command(ctx context.Context, v site.Visit, terminal,
	id string) (c machine.TerminalCommand, output string, err error) {
	uri, err := p.Find(v, terminal)
	if err != nil {
		return c, "", err
	}
	if err := p.Prepare(ctx, v.Who, uri); err != nil {
		return c, "", err
	}
	for _, c := range p.Host.Commands(uri) {
		if part.Tail(c.ID) != id {
			continue
		}
		if out, ok := p.Host.CommandOutput(ctx, uri, c.ID); ok {
			return c, plainOutput(out.Text, out.Cut), nil
		}
	}
	return c, "", site.NotFound("This command has scrolled out of the terminal's history.")
}

// plainOutput returns a command's output without surrounding empty lines; "…" marks a lost beginning.
func plainOutput(text string, cut bool) string {
	text = strings.TrimLeft(strings.TrimRight(text, " \t\r\n"), "\r\n")
	if cut {
		return "…\n" + text
	}
	return text
}

// ShowOutput serves GET …/commands/{command}: a command's output as plain text.
func (p *Pages) ShowOutput(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	_, output, err := p.command(r.Context(), v, chi.URLParam(r, "terminal"), chi.URLParam(r, "command"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, err = w.Write([]byte(output))
	return err
}

// Quote appends the command in a request's ?quote=<terminal>.<command> to a draft.
func (p *Pages) Quote(r *http.Request, v site.Visit, draft string) (string, error) {
	terminal, id, asked := strings.Cut(r.FormValue("quote"), ".")
	if !asked {
		return draft, nil
	}
	c, output, err := p.command(r.Context(), v, terminal, id)
	if err != nil {
		return "", err
	}
	if draft != "" {
		draft = strings.TrimRight(draft, "\n") + "\n\n"
	}
	return draft + quoteCommand(c, output), nil
}

// quoteCommand fences a command and its output, with a longer fence than any inside.
func quoteCommand(c machine.TerminalCommand, text string) string {
	if len(text) > mostQuoted {
		text = text[len(text)-mostQuoted:]
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
		text = "…\n" + strings.ToValidUTF8(text, "")
	}
	text = "$ " + c.Line + "\n" + text
	if c.ExitCode != nil && *c.ExitCode != 0 {
		text += "\n[exit " + strconv.FormatInt(*c.ExitCode, 10) + "]"
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "console\n" + text + "\n" + fence + "\n"
}
