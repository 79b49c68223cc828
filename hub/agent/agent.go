// Package agent is what the hub asks of a coding agent and what it gives one.
//
// A Backend is a kind of agent; a Session is one conversation's worker in its
// directories; a Turn is one prompt. The shapes are the protocol's: an agent
// says chat actions, and asks through tool calls and input requests.
// Cancelling is cancelling the context.
package agent

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/guard"
)

// Backend is one kind of agent, listed in the root state by its provider.
type Backend interface {
	// Describe tells what the root channel shows of this agent.
	Describe(context.Context) (ahp.AgentInfo, error)
	// Config is the schema of its session settings.
	Config() ahp.SessionConfigSchema
	// Open starts or resumes a session. The context ends with the session.
	Open(context.Context, Spec) (Session, error)
}

// Session answers the prompts of one session; turns of different chats may overlap.
type Session interface {
	// Prompt plays one turn and returns when it is over: nil completes the turn,
	// a cancelled context makes it a cancelled one, any other error ends it as
	// chat/error (a *Failure says whether it can be resumed).
	Prompt(context.Context, Turn) error
	// Close gives up what the session holds. No Prompt runs any more.
	Close() error
}

// Spec is what a session is opened with.
type Spec struct {
	Session ahp.URI
	Dirs    []string                // absolute paths; the first is the primary one, none is allowed
	Config  func(key string) string // the value in force now, "" when unset
	Data    string                  // a directory of the session's own, kept over restarts
	MCP     []MCPServer             // the host's own, for agents that can use them
	Host    Host
	Log     *slog.Logger

	Guard     *guard.Guard // refuses files that an agent reads and writes by the host's hand; nil: the kernel's alone
	Worktrees []string     // sessions whose work trees Guard lets through

	Progress func(step string) // hears what the opening is at; nil: nobody does
}

// Tell says what the opening of the session is at, for people.
func (s Spec) Tell(step string) {
	if s.Progress != nil {
		s.Progress(step)
	}
}

// Turn is one prompt.
type Turn struct {
	ID      string
	Chat    ahp.URI
	Message ahp.Message
	Threads []ahp.Annotation // what an annotations attachment of the message names
	History []*ahp.Turn      // completed turns of the chat, oldest first
	Guest   bool             // not the owner's: whatever it makes an agent do has to be asked about
	Out     Out
}

// Out is what a running turn may say and ask. Its methods may block while the
// host cannot take more (it is read-only), and fail once the turn is over.
type Out interface {
	// Emit applies a chat action; the host fills in the turn's id.
	Emit(ahp.Action) error
	// Confirm sends a tool call's readiness and waits for the answer, which comes
	// at once when the action already says `confirmed`.
	Confirm(context.Context, *ahp.ChatToolCallReadyAction) (*ahp.ChatToolCallConfirmedAction, error)
	// Ask sends an input request and waits for its completion.
	Ask(context.Context, ahp.ChatInputRequest) (*ahp.ChatInputCompletedAction, error)
	// ClientTool has a connected client run one of its tools and waits for the
	// result; "" picks whichever client offers it.
	ClientTool(ctx context.Context, clientID, tool string, input json.RawMessage) (ahp.ToolCallResult, error)
}

// Host is what a session may ask of the host besides.
type Host interface {
	// Terminal starts a command in a terminal with a channel of its own.
	Terminal(context.Context, TerminalSpec) (Terminal, error)
	// Spawn makes a sub-chat with a running turn. The func ends that turn: nil
	// completes it, an error ends it as Session.Prompt's would.
	Spawn(context.Context, SpawnSpec) (Turn, func(error), error)
	// Background lists a command as going on by itself in its chat. The host takes it off once the command is over.
	Background(context.Context, BackgroundSpec) error
	// Learn takes what the agent says of itself. It may block while the host is read-only.
	Learn(Offer)
}

// TerminalSpec says what to run for which tool call. Zero sizes mean 80 by 24.
type TerminalSpec struct {
	Chat       ahp.URI
	TurnID     string
	ToolCallID string
	Title      string
	Dir        string // absolute; "" is the session's first directory
	Command    []string
	Env        []string // KEY=value, added to the host's environment
	Cols, Rows int
}

// Terminal is a command that was started.
type Terminal interface {
	URI() ahp.URI
	// Wait blocks until the command is over. tail is the end of its output. ErrDetached: somebody has the command
	// go on in the background, and nobody is to wait for it.
	Wait(context.Context) (exitCode int, tail string, err error)
	// Kill ends the command and everything it started, and waits for it.
	Kill()
}

// BackgroundSpec says what goes on after the turn that started it.
type BackgroundSpec struct {
	Chat     ahp.URI
	Label    string
	Command  string
	Terminal Terminal
}

// Mover is a Session whose commands may go on in the background.
type Mover interface {
	// Move has the turn of a chat no longer wait for the command it runs; false when it runs none.
	Move(chat ahp.URI) bool
}

// SpawnSpec says which tool call a sub-chat works for, and on what.
type SpawnSpec struct {
	Chat       ahp.URI // the chat that spawns it
	TurnID     string
	ToolCallID string
	Title      string
	Message    string // the prompt the sub-chat is given
}

// Failure ends a turn with a message for people.
type Failure struct {
	Message   string
	Resumable bool // the same turn may be taken up again
}

func (f *Failure) Error() string { return f.Message }
