package agenttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Host is a host under test. Run returns the result of a command; nil is success without output.
// Forever and Refused are special exit codes.
type Host struct {
	Run func(agent.TerminalSpec) (code int, output string)

	mu      sync.Mutex
	Ran     []agent.TerminalSpec
	Killed  int
	Spawned []*Turn
	Ended   []error
	Learned []agent.Offer
	Behind  []agent.BackgroundSpec
}

// Background implements agent.Host.
func (h *Host) Background(_ context.Context, s agent.BackgroundSpec) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Behind = append(h.Behind, s)
	return nil
}

// Learn implements agent.Host.
func (h *Host) Learn(o agent.Offer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Learned = append(h.Learned, o)
}

// Special exit codes: the command runs until it is killed, or does not start (the output is the
// reason).
const (
	Forever = -1000 - iota
	Refused
)

// Terminal implements agent.Host.
func (h *Host) Terminal(_ context.Context, s agent.TerminalSpec) (agent.Terminal, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Ran = append(h.Ran, s)
	t := &command{host: h, uri: fmt.Sprintf("ahp-terminal:/%d", len(h.Ran))}
	if h.Run != nil {
		t.code, t.output = h.Run(s)
	}
	if t.code == Refused {
		return nil, errors.New(t.output)
	}
	return t, nil
}

type command struct {
	host   *Host
	uri    ahp.URI
	code   int
	output string
}

func (c *command) URI() ahp.URI { return c.uri }

func (c *command) Wait(ctx context.Context) (int, string, error) {
	if c.code == Forever {
		<-ctx.Done()
		return 0, "", context.Cause(ctx)
	}
	return c.code, c.output, nil
}

func (c *command) Kill() {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	c.host.Killed++
}

// Spawn implements agent.Host.
func (h *Host) Spawn(_ context.Context, s agent.SpawnSpec) (agent.Turn, func(error), error) {
	fake, turn := New(ahp.Message{Text: s.Message, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindAgent}})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Spawned = append(h.Spawned, fake)
	turn.Chat = fmt.Sprintf("ahp-chat:/sub-%d", len(h.Spawned))
	return turn, func(err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.Ended = append(h.Ended, err)
		fake.End(err)
	}, nil
}

// Text formats a turn's parts, one on each line, for comparisons.
func Text(t *ahp.Turn) string {
	var b strings.Builder
	for _, p := range t.ResponseParts {
		switch v := p.Value.(type) {
		case *ahp.MarkdownResponsePart:
			fmt.Fprintf(&b, "markdown %s\n", v.Content)
		case *ahp.ReasoningResponsePart:
			fmt.Fprintf(&b, "reasoning %s\n", v.Content)
		case *ahp.ToolCallResponsePart:
			fmt.Fprintln(&b, tool(v.ToolCall))
		case *ahp.InputRequestResponsePart:
			fmt.Fprintf(&b, "input %d questions %s\n", len(v.Request.Questions), v.Response)
		case *ahp.SystemNotificationResponsePart:
			fmt.Fprintf(&b, "notice %s\n", v.Content.Text)
		case *ahp.ErrorResponsePart:
			fmt.Fprintf(&b, "error %s\n", v.Error.Message)
		}
	}
	fmt.Fprintln(&b, t.State)
	return b.String()
}

func tool(c ahp.ToolCallState) string {
	switch v := c.Value.(type) {
	case *ahp.ToolCallCompletedState:
		return fmt.Sprintf("%s completed %v: %s [%s]", v.ToolName, v.Success, v.PastTenseMessage.Text, v.Confirmed)
	case *ahp.ToolCallCancelledState:
		return fmt.Sprintf("%s cancelled: %s", v.ToolName, v.Reason)
	}
	return fmt.Sprintf("%T", c.Value)
}
