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

// agentSpec is an agent.Spec on the wire; the Has… fields say which of its functions are set.
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

// sessionFacts are the optional features of a Session.
type sessionFacts struct{ Moves, Sets, Steers, Commands bool }

// turnMessage is an agent.Turn on the wire.
type turnMessage struct {
	Key     uint64 // identifies it in the calls of its Out
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

// mostHistory bounds the texts of a chat's history that are sent with each of its turns, in bytes.
const mostHistory = 1 << 20

// shorten returns the part of a chat's history that agents use: the texts of its newest turns. Attachments were sent
// with their own turn.
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
			if len(out) == 0 { // agents identify a chat by its newest turn
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

// The hub's calls to a session.
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

// A session's calls to the hub.
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
