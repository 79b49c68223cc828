package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/jsonrpc"
	"github.com/ahphub/ahphub/hub/texts"
)

// codeLogin is an agent's error code when it needs a login.
const codeLogin = -32000

// Errors for people say what happened, what the program printed, and what to do.

func commandLine(p Program) string { return strings.Join(append([]string{p.Command}, p.Args...), " ") }

func notStarted(prog Program, err error) error {
	do := "check its command in the configuration file"
	missing := errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
	switch base := filepath.Base(prog.Command); {
	case missing && (base == "npx" || base == "npm" || base == "node"):
		do = "install Node 20 or later, which it comes with, or name the path of its command in the configuration file"
	case missing:
		do = "install it, or name the path of its command in the configuration file"
	}
	return fmt.Errorf("%s cannot be started (%w): %s", prog.title(), err, do)
}

// notIntroduced explains why initialize failed.
func (p *peer) notIntroduced(ctx context.Context, err error) error {
	noise := p.firstNoise()
	try := fmt.Sprintf("Run %s on the server to see more.", agent.Code(commandLine(p.prog)))
	switch {
	case ctx.Err() != nil && context.Cause(ctx) != errSlow:
		return context.Cause(ctx)
	case errors.As(err, new(*jsonrpc.Error)):
		return p.explain(err)
	case noise != "":
		return fmt.Errorf("%s does not speak the Agent Client Protocol: it printed %s. Check its arguments. %s",
			p.prog.title(), agent.Code(noise), try)
	case errors.Is(err, jsonrpc.ErrClosed):
		return fmt.Errorf("%s %s before it introduced itself%s.%s %s", p.prog.title(), p.proc.describeEnd(),
			p.quoteOutput(), p.prog.nodeAdvice(ctx), try)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errSlow):
		return fmt.Errorf("%s did not introduce itself in time%s. %s", p.prog.title(), p.quoteOutput(), try)
	}
	return p.explain(err)
}

var errSlow = errors.New("no answer in time")

func otherVersion(prog Program, have int) error {
	return fmt.Errorf("%s speaks version %d of the Agent Client Protocol, and ahphub version %d: install a release "+
		"of it that speaks version %d",
		prog.title(), have, version, version)
}

// quoteOutput quotes what the program's standard error says of its failure.
func (p *peer) quoteOutput() string {
	lines := readableLines(p.proc.words.String())
	if len(lines) == 0 {
		return ""
	}
	return ". It said: " + strings.TrimRight(texts.ElideBytes(strings.Join(lines, " / "), 600), ".")
}

// explain converts an error of a call into one for people.
func (p *peer) explain(err error) error {
	refused, ok := errors.AsType[*jsonrpc.Error](err)
	switch {
	case errors.Is(err, jsonrpc.ErrClosed):
		return &agent.Failure{Resumable: true, Message: p.prog.title() + " " + p.proc.describeEnd() + p.quoteOutput() +
			"."}
	case ok && refused.Code == codeLogin:
		return &agent.Failure{Resumable: true, Login: true, Message: p.needsLogin(refused)}
	case ok:
		return &agent.Failure{Resumable: true,
			Message: p.prog.title() + " answered with an error: " + refused.Message + details(refused)}
	}
	return err
}

// adviseResume adds the advice to resume to an error that ends a turn.
func adviseResume(err error) error {
	if f, ok := errors.AsType[*agent.Failure](err); ok && f.Resumable && !strings.Contains(f.Message, "try again") {
		return &agent.Failure{Message: f.Message + " Resume to try again.", Resumable: true, Login: f.Login}
	}
	return err
}

func (p *peer) needsLogin(e *jsonrpc.Error) string {
	text := p.prog.title() + " needs a login"
	if m := strings.TrimRight(e.Message, "."); m != "" {
		text += " (" + m + ")"
	}
	how := p.prog.Login
	switch {
	case how != "":
	case p.prog.LoginLine != "":
		how = "Run " + p.prog.LoginLine + " on the server"
	default:
		how = "Log in with it on the server, as the user that runs ahphub"
	}
	text += ". " + strings.TrimRight(how, ".") + ", then try again."
	var ways []string
	for _, a := range p.about.AuthMethods {
		ways = append(ways, a.way(p.prog))
	}
	if len(ways) > 0 {
		text += " It offers: " + strings.Join(ways, "; ") + "."
	}
	return text
}

// details returns an error's data if it is text.
func details(e *jsonrpc.Error) string {
	var text string
	if json.Unmarshal(e.Data, &text) == nil && text != "" {
		return " (" + texts.ElideBytes(text, 500) + ")"
	}
	var data struct{ Details, Message string }
	if json.Unmarshal(e.Data, &data) == nil && data.Details+data.Message != "" {
		return " (" + texts.ElideBytes(data.Details+data.Message, 500) + ")"
	}
	return ""
}
