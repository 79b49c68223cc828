package bench

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e"
	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// startHost starts the real program in a separate process, with the script agent.
func startHost(b testing.TB, data string) *host {
	b.Helper()
	return &host{e2e.Start(b, e2e.Options{Args: []string{"--agent", "script", "--log-level", "warn"}, Data: data})}
}

type host struct{ *e2e.Program }

// rss returns the program's resident memory in bytes.
func (h *host) rss(b testing.TB) int64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.Pid()))
	if err != nil {
		b.Skip("resident memory is read from /proc, which is not here")
	}
	return kilobytes(string(raw), "VmRSS:") << 10
}

func (h *host) peer(b testing.TB, id string) *peer.Peer {
	b.Helper()
	p, err := peer.Dial(b.Context(), h.AHP, peer.Options{Trust: true, Token: h.Token(), ClientID: id})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	return p
}

// session creates a session and returns it with its default chat, following both.
func session(b testing.TB, p *peer.Peer) (uri, chat ahp.URI) {
	b.Helper()
	return sessionOf(b, p, "script")
}

// sessionOf creates a session of another agent, in the given directories if any.
func sessionOf(b testing.TB, p *peer.Peer, provider string, dirs ...ahp.URI) (uri, chat ahp.URI) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 20*time.Second)
	defer cancel()
	uri = "ahp-session:/" + uuid.NewString()
	check(b, p.Call(ctx, "createSession", &ahp.CreateSessionParams{Channel: uri, Provider: provider,
		WorkingDirectories: dirs}, nil))
	check(b, p.Subscribe(ctx, uri))
	check(b, p.Wait(ctx, func() bool {
		s, ok := p.State(uri).(*ahp.SessionState)
		return ok && s.Lifecycle == ahp.SessionLifecycleReady && s.DefaultChat != ""
	}))
	return uri, p.State(uri).(*ahp.SessionState).DefaultChat
}

func prompt(b testing.TB, p *peer.Peer, chat ahp.URI, text string) {
	b.Helper()
	_, err := p.Dispatch(b.Context(), chat, &ahp.ChatTurnStartedAction{
		TurnID: uuid.NewString(), StartedAt: time.Now().UTC().Format(time.RFC3339Nano),
		Message: ahp.Message{Text: text, Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}},
	})
	check(b, err)
}

// idle waits until all turns of the chat have ended.
func idle(b testing.TB, p *peer.Peer, chat ahp.URI, turns int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	check(b, p.Wait(ctx, func() bool {
		s, ok := p.State(chat).(*ahp.ChatState)
		return ok && s.ActiveTurn == nil && len(s.Turns) >= turns
	}))
}

func check(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
