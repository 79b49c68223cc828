// Package agent defines the interfaces between the hub and a coding agent.
//
// A Backend is a kind of agent; a Session is one conversation's worker in its directories; a Turn
// is one prompt. The shapes are the protocol's: an agent emits chat actions, and asks through tool
// calls and input requests. Cancelling the context cancels the turn.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Backend is one kind of agent, listed in the root state by its provider.
type Backend interface {
	// Describe returns what the root channel shows of this agent.
	Describe(context.Context) (ahp.AgentInfo, error)
	// Config returns the schema of its session settings.
	Config() ahp.SessionConfigSchema
	// Open starts or resumes a session. The context ends with the session.
	Open(context.Context, Spec) (Session, error)
}

// ErrGone is the error of a Prompt that had no effect, because the session had ended by itself: its
// computer restarted, or was disconnected for too long. Open creates a new one.
var ErrGone = errors.New("the agent has ended")

// Session answers the prompts of one session; turns of different chats may overlap.
type Session interface {
	// Prompt plays one turn and returns when it has ended: nil completes the turn, a cancelled
	// context makes it a cancelled one, any other error ends it as chat/error (a *Failure carries
	// whether it can be resumed).
	Prompt(context.Context, Turn) error
	// Close releases the session's resources. No Prompt runs any more.
	Close() error
}

// Spec describes a session to open.
type Spec struct {
	Session ahp.URI
	Dirs    []string                // absolute paths, or none; the first is the primary one
	Config  func(key string) string // the current value, "" when unset
	Data    string                  // a directory for the session alone, kept across restarts
	Sent    string                  // a directory for what people send, which its programs only read; "" is Data
	Work    string                  // a directory that its programs may write; "" is Data
	MCP     []MCPServer             // the host's own servers, for agents that can use them
	Host    Host
	Log     *slog.Logger

	Worktrees []string // sessions whose worktrees in the hub's data directory are open to the agent

	// Sandbox returns the policy for the agent's program, each time that it starts; nil: it has no
	// sandbox.
	Sandbox func(context.Context) (*sandbox.Policy, error)

	// Secrets returns the variables with the session's secrets, each time that its program starts; nil: there are none.
	Secrets func(context.Context) ([]string, error)
	// Hide returns a text without secrets, as for a log; nil: there are none.
	Hide func(text string) string

	Progress func(step string) // receives the steps of the opening; nil: none
}

// Tell reports a step of the session's opening, for people.
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
	Threads []ahp.Annotation // the threads in the message's annotations attachment
	History []*ahp.Turn      // completed turns of the chat, oldest first
	Guest   bool             // from a guest: everything the agent does for it needs an approval
	Out     Out
}

// Out is what a running turn can say and ask. Its methods may block while the host is read-only,
// and fail once the turn has ended.
type Out interface {
	// Emit applies a chat action; the host fills in the turn's id.
	Emit(ahp.Action) error
	// Confirm sends a tool call's readiness and waits for the answer, which is immediate when the
	// action already has `confirmed`.
	Confirm(context.Context, *ahp.ChatToolCallReadyAction) (*ahp.ChatToolCallConfirmedAction, error)
	// Ask sends an input request and waits for its completion.
	Ask(context.Context, ahp.ChatInputRequest) (*ahp.ChatInputCompletedAction, error)
	// ClientTool runs a tool of a connected client and waits for the result; "" picks any client
	// that offers it.
	ClientTool(ctx context.Context, clientID, tool string, input json.RawMessage) (ahp.ToolCallResult, error)
}

// Host is what a session can ask of the host outside of turns.
type Host interface {
	// Terminal starts a command in a terminal with a channel of its own.
	Terminal(context.Context, TerminalSpec) (Terminal, error)
	// Spawn makes a sub-chat with a running turn. The func ends that turn: nil
	// completes it, an error ends it as Session.Prompt's would.
	Spawn(context.Context, SpawnSpec) (Turn, func(error), error)
	// Background lists a command as running in the background of its chat. The host removes it when
	// the command ends.
	Background(context.Context, BackgroundSpec) error
	// Learn takes in what the agent reports of itself. It may block while the host is read-only.
	Learn(Offer)
}

// TerminalSpec describes a command to run for a tool call. Zero sizes mean 80 by 24.
type TerminalSpec struct {
	Chat       ahp.URI
	TurnID     string
	ToolCallID string
	Title      string
	Dir        string // absolute; "" is the session's first directory
	Command    []string
	Env        []string // KEY=value, added to the host's environment
	Cols, Rows int

	Unconfined bool // outside of the session's sandbox, as the owner chose for this command
}

// Terminal is a started command.
type Terminal interface {
	URI() ahp.URI
	// Wait blocks until the command ends; tail is the end of its output. It returns ErrDetached
	// when a person moved the command to the background, so that the turn no longer waits for it.
	Wait(context.Context) (exitCode int, tail string, err error)
	// Kill ends the command and its child processes, and waits for them.
	Kill()
}

// BackgroundSpec describes a command that outlives the turn that started it.
type BackgroundSpec struct {
	Chat     ahp.URI
	Label    string
	Command  string
	Terminal Terminal
}

// HomeKeeper is a Backend whose program keeps settings and credentials in the user's home
// directory. Paths are relative to it.
type HomeKeeper interface {
	// HomePaths returns what the program writes there, and what it only reads.
	HomePaths() (write, read []string)
}

// Online is a Backend whose program needs services on the network, such as its model's.
type Online interface {
	// Hosts returns the names of these services, as sandbox.ParseHosts reads them.
	Hosts() []string
}

// Mover is a Session whose commands can move to the background.
type Mover interface {
	// Move makes the turn of a chat stop waiting for its command; false when it runs none.
	Move(chat ahp.URI) bool
}

// SpawnSpec describes a sub-chat and the tool call it works for.
type SpawnSpec struct {
	Chat       ahp.URI // the chat that spawns it
	TurnID     string
	ToolCallID string
	Title      string
	Message    string // the sub-chat's prompt
}

// Failure ends a turn with a message for people.
type Failure struct {
	Message   string
	Resumable bool // the same turn can be resumed
	Login     bool // the agent needs a login first
}

func (f *Failure) Error() string { return f.Message }
