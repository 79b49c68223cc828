package remote

import (
	"encoding/json"
	"slices"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine/pipe"
)

// kindAgent is the kind of the conduit of an agent's session.
const kindAgent = "agent"

// agentCall is a call of a Backend.
type agentCall struct {
	Provider        string
	Dir             string
	Resource, Token string
}

// agentSpec is an agent.Spec as it crosses; Has… say which of its functions there are.
type agentSpec struct {
	Provider         string
	Session          ahp.URI
	Dirs             []string
	Data, Sent, Work string
	MCP              []agent.MCPServer
	Worktrees        []string

	HasSandbox, HasSecrets, HasHide, HasProgress bool
	HasKeep, HasReply                            bool
}

// sessionFacts say what a Session can do besides what each can.
type sessionFacts struct{ Moves, Sets, Steers, Commands bool }

// turnMessage is an agent.Turn as it crosses.
type turnMessage struct {
	Key     uint64 // names it in the calls of its Out
	ID      string
	Chat    ahp.URI
	Message pipe.JSON[ahp.Message]
	Threads pipe.JSON[[]ahp.Annotation]
	History pipe.JSON[[]*ahp.Turn]
	Guest   bool
}

func turnOf(key uint64, t agent.Turn) turnMessage {
	return turnMessage{Key: key, ID: t.ID, Chat: t.Chat, Message: pipe.JSON[ahp.Message]{V: t.Message},
		Threads: pipe.JSON[[]ahp.Annotation]{V: t.Threads}, History: pipe.JSON[[]*ahp.Turn]{V: shorten(t.History)},
		Guest: t.Guest}
}

// mostHistory bounds the texts of a chat's history that cross with each of its turns, in bytes.
const mostHistory = 1 << 20

// shorten returns what agents use of a chat's history: the texts of its newest turns. What people sent along crossed
// with the turn that it was sent with.
func shorten(history []*ahp.Turn) []*ahp.Turn {
	var out []*ahp.Turn
	for size := 0; len(out) < len(history); {
		t := history[len(history)-1-len(out)]
		short := &ahp.Turn{ID: t.ID, Message: ahp.Message{Text: t.Message.Text, Origin: t.Message.Origin}, State: t.State}
		size += len(t.Message.Text)
		for _, part := range t.ResponseParts {
			if p, ok := part.Value.(*ahp.MarkdownResponsePart); ok {
				size += p.Content.Len()
				short.ResponseParts = append(short.ResponseParts, part)
			}
		}
		if size > mostHistory {
			if len(out) == 0 { // agents know a chat by its newest turn
				out = append(out, &ahp.Turn{ID: t.ID, Message: ahp.Message{Origin: t.Message.Origin}, State: t.State})
			}
			break
		}
		out = append(out, short)
	}
	slices.Reverse(out)
	return out
}

func (t turnMessage) turn(out agent.Out) agent.Turn {
	return agent.Turn{ID: t.ID, Chat: t.Chat, Message: t.Message.V, Threads: t.Threads.V, History: t.History.V,
		Guest: t.Guest, Out: out}
}

// What the hub asks of a session.
type (
	endCall struct{ Cause *pipe.Error }
	setCall struct {
		Key   string
		Value json.RawMessage
	}
	steerCall struct {
		Chat    ahp.URI
		Message pipe.JSON[ahp.Message]
	}
	faultCall struct {
		Key uint64
		Err *pipe.Error
	}
)

// What a session asks of the hub.
type (
	emitCall struct {
		Key    uint64
		Action pipe.Action
	}
	confirmed struct {
		Answer *pipe.JSON[ahp.ChatToolCallConfirmedAction] `cbor:",omitzero"`
	}
	askCall struct {
		Key     uint64
		Request pipe.JSON[ahp.ChatInputRequest]
	}
	toolCall struct {
		Key          uint64
		Client, Tool string
		Input        json.RawMessage
	}
	startedTerminal struct {
		ID  uint64
		URI ahp.URI
	}
	waited struct {
		ExitCode int
		Tail     string
	}
	spawnEnd struct {
		Key uint64
		Err *pipe.Error
	}
	backgroundCall struct {
		Chat           ahp.URI
		Label, Command string
		Terminal       uint64
	}
	keepCall struct {
		Path    string
		Content []byte
	}
	replyCall struct{ Thread, Text string }
)
