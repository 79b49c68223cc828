package rpc

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

var (
	convergeFor  = flag.Duration("converge", 0, "how long TestEverybodyConverges goes on; 0: 12 rounds of each client")
	convergeSeed = flag.Uint64("converge-seed", 0, "what TestEverybodyConverges does; 0: something else every time")
)

const partySession, partySize = ahp.URI("ahp-session:/party"), 20

// Twenty clients of all versions dispatch valid and invalid actions while their connections are cut
// repeatedly. At the end each has the current state in its version, and all of its actions are
// answered.
func TestAllClientsConverge(t *testing.T) { // AHP requirements 40, 42 and 206
	seed := *convergeSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	defer func() {
		if t.Failed() {
			t.Logf("to see this again: -converge-seed %d", seed)
		}
	}()
	w := realWorld(t)
	versions := []string{"1.0.0", "0.4.0", "0.5.0", "0.5.1", "0.5.2", "0.6.0", "0.7.0", "0.8.0", "0.9.0", "0.10.0"}
	clients := make([]*guest, partySize)
	for i := range clients {
		clients[i] = w.guest(versions[i%len(versions)], i, seed)
	}
	clients[0].call("createSession", `{"channel":"`+partySession+`","provider":"script"}`)
	for _, g := range clients {
		g.follow(partySession, ahp.ChannelSession)
		g.chat = g.session(partySession).DefaultChat
		g.follow(g.chat, ahp.ChannelChat)
	}
	end := time.Now().Add(*convergeFor)
	var party sync.WaitGroup
	for _, g := range clients {
		party.Go(func() {
			for n := 0; n < 12 || time.Now().Before(end); n++ {
				g.round(w)
			}
		})
	}
	party.Wait()
	for _, g := range clients {
		g.check() // its answers follow those of all earlier requests
		if len(g.pending) > 0 {
			t.Errorf("%s has no answer to %v", g.id, g.pending)
		}
	}
}

// guest is a client with optimistic actions.
type guest struct {
	*elder
	rnd  *rand.Rand
	chat ahp.URI
}

func (w *world) guest(version string, i int, seed uint64) *guest {
	e := w.elderAs(version, fmt.Sprintf("guest-%d", i))
	e.refusable = true
	return &guest{e, rand.New(rand.NewPCG(seed, uint64(i))), ""}
}

// round dispatches some actions, then reads all answers or disconnects in the middle.
func (g *guest) round(w *world) {
	for range 1 + g.rnd.IntN(4) {
		g.acts()
	}
	if g.rnd.IntN(3) > 0 {
		g.check()
		return
	}
	g.seq++
	g.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, g.seq))
	left, mark := g.rnd.IntN(20), fmt.Sprint(g.seq)
	g.until(func(f frame) bool { left--; return left < 0 || string(f.ID) == mark })
	g.ws.CloseNow()
	g.peer = w.dial("owner")
	g.resume()
}

// acts dispatches an action and keeps it until it is answered; one on an unknown channel is never
// answered.
func (g *guest) acts() {
	g.seq++
	channel, action := g.action()
	g.say(unanswered{channel, g.seq, action})
	if channel == partySession || channel == g.chat {
		g.pending = append(g.pending, unanswered{channel, g.seq, action})
		if g.shown(channel) == nil {
			g.t.Errorf("%s shows nothing of %s", g.id, channel)
		}
	}
}

func (g *guest) say(u unanswered) {
	g.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":%s}}`,
		u.channel, u.seq, u.action))
}

func (g *guest) action() (ahp.URI, string) {
	n := g.rnd.IntN(1000)
	turn := ""
	chat := g.plainStates.chat(g.chat)
	if chat.ActiveTurn != nil {
		turn = chat.ActiveTurn.ID
	} else if len(chat.Turns) > 0 {
		turn = chat.Turns[g.rnd.IntN(len(chat.Turns))].ID
	}
	message := fmt.Sprintf(`{"text":%q,"origin":{"kind":"user"}}`,
		[]string{"say hello", "count 20 0", "ask", "run true", "plan", "fail no"}[g.rnd.IntN(6)])
	switch g.rnd.IntN(16) {
	case 0, 1, 2:
		return g.chat, fmt.Sprintf(
			`{"type":"chat/turnStarted","turnId":"t%d","startedAt":"2026-01-02T03:04:05.000Z","message":%s}`, n,
			message)
	case 3, 4:
		return g.chat, fmt.Sprintf(`{"type":"chat/turnCancelled","turnId":%q,"duration":1}`, turn)
	case 5:
		return g.chat, fmt.Sprintf(`{"type":"chat/pendingMessageSet","kind":"queued","id":"m%d","message":%s}`, n%5,
			message)
	case 6:
		return g.chat, fmt.Sprintf(`{"type":"chat/pendingMessageRemoved","kind":"queued","id":"m%d"}`, n%5)
	case 7:
		return g.chat, fmt.Sprintf(`{"type":"chat/queuedMessagesReordered","order":["m%d","m%d"]}`, n%5, n%3)
	case 8:
		return g.chat, fmt.Sprintf(`{"type":"chat/draftChanged","draft":%s}`, message)
	case 9:
		return g.chat, fmt.Sprintf(`{"type":"chat/truncated","turnId":%q}`, turn)
	case 10:
		return partySession, fmt.Sprintf(`{"type":"session/isReadChanged","isRead":%t}`, n%2 == 0)
	case 11, 12:
		return partySession, fmt.Sprintf(`{"type":"session/titleChanged","title":"Title %d"}`, n%4)
	}
	return g.wrong(n)
}

// wrong returns an action that is refused, for one of several reasons, or ignored.
func (g *guest) wrong(n int) (ahp.URI, string) {
	switch n % 7 {
	case 0:
		return partySession, `{"type":"session/titleChanged","title":""}`
	case 1:
		return partySession, `{"type":"session/ready"}`
	case 2:
		return g.chat, `{"type":"session/titleChanged","title":"not of a chat"}`
	case 3:
		return g.chat, `{"type":"nobody/knowsThis","n":[1,{"a":null}]}`
	case 4:
		return g.chat, `{"type":"chat/turnCancelled","turnId":"none"}`
	case 5:
		return g.chat, `{"type":"chat/toolCallConfirmed","turnId":"none","toolCallId":"none","approved":true,"confirmed":"user-action"}`
	}
	return "ahp-chat:/nowhere", `{"type":"chat/turnCancelled","turnId":"none"}`
}

// shown returns a channel as the client's user sees it: the confirmed state with unanswered actions
// applied.
func (g *guest) shown(uri ahp.URI) map[string]any {
	s := g.states[uri]
	for _, u := range g.pending {
		if u.channel != uri {
			continue
		}
		next, err := g.reduced(uri, s, []byte(u.action))
		must(g.t, err)
		s = next
	}
	return s
}

// resume reconnects by replay or snapshots and resends unanswered actions.
func (g *guest) resume() {
	uris, _ := json.Marshal([]ahp.URI{partySession, g.chat}) // two strings
	var r resumed
	must(g.t, json.Unmarshal(g.call("reconnect",
		fmt.Sprintf(`{"channel":"ahp-root://","clientId":%q,"lastSeenServerSeq":%d,"subscriptions":%s}`, g.id, g.last,
			uris)), &r))
	for _, raw := range r.Actions {
		g.apply(raw)
	}
	for _, s := range r.Snapshots {
		must(g.t, g.adopt(s.Resource, g.kinds[s.Resource], s.State))
		g.last = max(g.last, s.FromSeq)
	}
	if !strings.Contains("replay snapshot", r.Type) || r.Type == "" {
		g.t.Errorf("%s resumed by %q", g.id, r.Type)
	}
	for _, u := range g.pending {
		g.say(u)
	}
}
