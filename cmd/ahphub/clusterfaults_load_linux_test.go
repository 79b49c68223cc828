package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ahphub/ahphub/e2e/history"
	"github.com/ahphub/ahphub/e2e/oracle"
	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/ids"
)

const (
	trialWriters, trialWatchers, trialVisitors = 3, 2, 2

	underway = 8 // actions that a client sends before it waits for answers

	oneTry     = 3 * time.Second // before a client tries another node
	allTries   = time.Minute     // before a client gives up on the cluster
	lookAround = 150 * time.Millisecond
)

// trialLoad is the load of clients and visitors on all nodes.
type trialLoad struct {
	*history.History
	nodes    *trialNodes
	effects  string // file with the turns whose commands started
	clients  []*trialClient
	blind    *trialClient // subscribes to nothing: it learns missed answers only by asking again
	register ahp.URI      // a session whose title is a growing number
	count    int          // of the register; used only by its writer

	moves, refused atomic.Int64

	failed chan error
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

// trialClient is a protocol client that moves from node to node.
type trialClient struct {
	*trialLoad
	name          string
	peer          *peer.Peer
	writes        bool
	session, chat ahp.URI
	only          atomic.Pointer[trialNode] // the node to connect to; nil: any
}

func newTrialLoad(c *trialNodes) *trialLoad {
	c.Helper()
	l := &trialLoad{History: history.New(), nodes: c, effects: filepath.Join(c.dir, "effects"), failed: make(chan error, 64)}
	for i := range trialWriters + trialWatchers {
		client := &trialClient{trialLoad: l, name: fmt.Sprintf("client-%d", i), writes: i < trialWriters}
		l.clients = append(l.clients, client)
		client.dial()
	}
	l.blind = &trialClient{trialLoad: l, name: "blind"}
	l.blind.dial()
	return l
}

// anyNode connects to a random node, or to the one set in only.
func (c *trialClient) anyNode(ctx context.Context, network, _ string) (net.Conn, error) {
	n := c.only.Load()
	if n == nil {
		n = c.nodes.list[rand.IntN(len(c.nodes.list))]
	}
	return (&net.Dialer{}).DialContext(ctx, network, n.web)
}

func (l *trialLoad) fail(format string, args ...any) {
	select {
	case l.failed <- fmt.Errorf(format, args...):
	default:
	}
}

func (c *trialClient) dial() {
	c.nodes.Helper()
	opts := peer.Options{Token: trialToken, ClientID: c.name,
		HTTP: &http.Client{Transport: &http.Transport{DialContext: c.anyNode, DisableKeepAlives: true}},
		OnFrame: func(frame []byte) {
			if err := c.Frame(c.name, frame); err != nil {
				c.fail("%s: %v", c.name, err)
			}
		}}
	c.nodes.await("a socket for "+c.name, func() bool {
		ctx, cancel := context.WithTimeout(c.nodes.Context(), oneTry)
		defer cancel()
		p, err := peer.Dial(ctx, "ws://localhost/ahp", opts)
		if err != nil {
			return false
		}
		if _, err := p.Initialize(ctx, ahp.RootURI); err != nil {
			p.Drop()
			return false
		}
		c.peer = p
		return true
	})
	c.nodes.Cleanup(c.peer.Drop)
}

// reconnect connects to another node and replays what was missed.
func (c *trialClient) reconnect() error {
	c.moves.Add(1)
	for began := time.Now(); ; <-time.After(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), oneTry)
		_, err := c.peer.Reconnect(ctx)
		cancel()
		if err == nil {
			return nil
		}
		if time.Since(began) > allTries {
			return fmt.Errorf("%s cannot reconnect: %w", c.name, err)
		}
	}
}

// try repeats do, each time at another node, until it succeeds.
func (c *trialClient) try(what string, do func(context.Context) error) error {
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(context.Background(), oneTry)
		err := do(ctx)
		cancel()
		var refused *ahp.Error
		if err == nil || errors.As(err, &refused) && time.Since(began) > allTries/4 {
			return err
		}
		if time.Since(began) > allTries {
			return fmt.Errorf("%s: %s: %w", c.name, what, err)
		}
		if refused != nil {
			<-time.After(50 * time.Millisecond)
			continue
		}
		if err := c.reconnect(); err != nil {
			return err
		}
	}
}

// do dispatches an action and waits for its answer, at any node.
func (c *trialClient) do(channel ahp.URI, a ahp.Action) (accepted bool, err error) {
	return c.answer(c.send(channel, a))
}

func (c *trialClient) send(channel ahp.URI, a ahp.Action) (clientSeq int64) {
	ctx, cancel := context.WithTimeout(context.Background(), oneTry)
	defer cancel()
	clientSeq, _ = c.peer.Dispatch(ctx, channel, a) // unsent actions are sent with the next connection
	return clientSeq
}

// answer waits for the answer to an action.
func (c *trialClient) answer(seq int64) (accepted bool, err error) {
	for began := time.Now(); ; {
		late := time.After(oneTry)
		for waiting := true; waiting; {
			accepted, answered, changed := c.Answered(c.name, seq)
			if answered {
				return accepted, nil
			}
			select {
			case <-changed:
				waiting = c.peer.Err() == nil
			case <-time.After(100 * time.Millisecond):
				waiting = c.peer.Err() == nil
			case <-late:
				waiting = false
			}
		}
		if time.Since(began) > allTries {
			return false, fmt.Errorf("%s: action %d was never answered", c.name, seq)
		}
		if err := c.reconnect(); err != nil {
			return false, err
		}
	}
}

// create creates a session. It asks again if the result is unknown.
func (c *trialClient) create() (session ahp.URI, err error) {
	session = "ahp-session:/" + ids.New()
	err = c.try("makes a session", func(ctx context.Context) error {
		err := c.peer.Call(ctx, "createSession", ahp.CreateSessionParams{Channel: session, Provider: "shell",
			WorkingDirectories: []ahp.URI{"file://" + c.nodes.work()}, Config: ahp.Meta{"approval": json.RawMessage(`"auto"`)}}, nil)
		var refused *ahp.Error
		if errors.As(err, &refused) && refused.Code == ahp.CodeSessionAlreadyExists {
			return nil
		}
		return err
	})
	if err == nil {
		c.Made(c.name, session)
	}
	return session, err
}

func (c *trialClient) mirror(channel ahp.URI) error {
	return c.try("subscribes to "+channel, func(ctx context.Context) error { return c.peer.Subscribe(ctx, channel) })
}

// wait waits until a condition holds, at any node.
func (c *trialClient) wait(what string, is func() bool) error {
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(context.Background(), oneTry)
		err := c.peer.Wait(ctx, is)
		cancel()
		if err == nil {
			return nil
		}
		if time.Since(began) > allTries {
			return fmt.Errorf("%s waited for %s: %w", c.name, what, err)
		}
		if err := c.reconnect(); err != nil {
			return err
		}
	}
}

// prepare makes each writer create a session, which all clients mirror instead of the previous
// ones.
func (l *trialLoad) prepare() error {
	for _, c := range l.clients {
		for _, uri := range c.peer.Subscriptions() {
			if uri == ahp.RootURI {
				continue
			}
			if err := c.try("leaves "+uri, func(ctx context.Context) error { return c.peer.Unsubscribe(ctx, uri) }); err != nil {
				return err
			}
		}
	}
	for _, c := range l.clients[:trialWriters] {
		session, err := c.create()
		if err != nil {
			return err
		}
		for _, other := range l.clients {
			if err := other.mirror(session); err != nil {
				return err
			}
		}
		c.session = session
		if err := c.wait("its session", func() bool { return c.chatOf(session) != "" }); err != nil {
			return err
		}
		c.chat = c.chatOf(session)
		for _, other := range l.clients {
			if err := errors.Join(other.mirror(c.chat), other.mirror(session+"/annotations")); err != nil {
				return err
			}
		}
		if l.register == "" {
			l.register = session
		}
	}
	session, err := l.blind.create()
	if err != nil {
		return err
	}
	watcher := l.clients[trialWriters]
	if err := watcher.mirror(session); err != nil {
		return err
	}
	if err := watcher.wait("a session", func() bool { return watcher.chatOf(session) != "" }); err != nil {
		return err
	}
	l.blind.session, l.blind.chat = session, watcher.chatOf(session)
	return watcher.mirror(l.blind.chat)
}

// chatOf returns the chat of a session that is ready.
func (c *trialClient) chatOf(session ahp.URI) ahp.URI {
	s, _ := c.peer.State(session).(*ahp.SessionState)
	if s == nil || s.Lifecycle != ahp.SessionLifecycleReady {
		return ""
	}
	return s.DefaultChat
}

func (c *trialClient) isIdle() bool {
	s, _ := c.peer.State(c.chat).(*ahp.ChatState)
	return s != nil && s.ActiveTurn == nil
}

// begin starts all clients; end stops them.
func (l *trialLoad) begin() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	for i, c := range l.clients {
		l.ended.Go(func() {
			work := c.watch
			if c.writes {
				work = c.write
			}
			if i == 0 {
				work = c.count
			}
			if err := work(ctx); err != nil {
				l.fail("%w", err)
			}
		})
	}
	l.ended.Go(func() {
		if err := l.blind.burst(ctx); err != nil {
			l.fail("%w", err)
		}
	})
	for i := range trialVisitors {
		l.ended.Go(func() {
			if err := l.visit(ctx, fmt.Sprintf("visitor-%d", i)); err != nil {
				l.fail("%w", err)
			}
		})
	}
}

// end waits until all clients are done and all turns have ended.
func (l *trialLoad) end() error {
	l.stop()
	l.ended.Wait()
	err := l.blind.reconnect()
	err = errors.Join(err, l.blind.wait("answers", func() bool { return l.blind.peer.Unanswered() == 0 }))
	l.clients[trialWriters].chat = l.blind.chat
	for i, c := range l.clients {
		err = errors.Join(err, c.reconnect())
		if c.writes || i == trialWriters {
			err = errors.Join(err, c.wait("the end of its turn", c.isIdle))
		}
		err = errors.Join(err, c.wait("answers", func() bool { return c.peer.Unanswered() == 0 }))
	}
	for {
		select {
		case e := <-l.failed:
			err = errors.Join(err, e)
		default:
			return err
		}
	}
}

// converge compares the clients' mirrors with a new client's snapshot.
func (l *trialLoad) converge() error {
	for _, c := range l.clients {
		for _, uri := range c.peer.Subscriptions() {
			if err := c.converge(uri); err != nil {
				return err
			}
		}
	}
	return nil
}

// converge decodes both with the program's types: an empty text equals an absent one.
func (c *trialClient) converge(uri ahp.URI) error {
	var mine, want []byte
	err := c.try("takes a fresh snapshot of "+uri, func(ctx context.Context) error {
		fresh, err := c.peer.Fresh(ctx, uri)
		if err == nil {
			want, err = sortedState(uri, fresh)
		}
		if err == nil { // earlier envelopes arrive before this answer
			err = c.peer.Call(ctx, "ping", ahp.PingParams{Channel: ahp.RootURI}, nil)
		}
		if err == nil {
			mine, err = sortedState(uri, c.peer.State(uri))
		}
		if err == nil && !bytes.Equal(mine, want) {
			<-time.After(50 * time.Millisecond)
			err = ahp.Errorf(ahp.CodeInternalError, "%s mirrors of %s\n%s\nand a new client gets\n%s", c.name, uri,
				from(mine, want), from(want, mine))
		}
		return err
	})
	return err
}

// sortedState encodes a mirrored state so that equal states have equal bytes.
func sortedState(uri ahp.URI, s ahp.State) ([]byte, error) {
	b, err := ahp.Marshal(s)
	if err != nil {
		return nil, err
	}
	decoded, err := oracle.Decode(b)
	if err != nil {
		return nil, err
	}
	return []byte(oracle.Canonical(oracle.WithoutNulls(oracle.Mirrored(string(peer.KindOf(uri)), decoded)))), nil
}

// from returns the rest of a from its first difference to b.
func from(a, b []byte) []byte {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[max(0, n-200):min(len(a), n+300)]
}

// count increments the register and sets titles, one at a time.
func (c *trialClient) count(ctx context.Context) error {
	for ctx.Err() == nil {
		c.trialLoad.count++
		accepted, err := c.do(c.register, &ahp.SessionTitleChangedAction{Title: registerTitle(c.trialLoad.count)})
		if err != nil {
			return err
		}
		if accepted {
			c.Wrote(c.trialLoad.count, time.Now())
		}
		pause(ctx, 20*time.Millisecond)
	}
	return nil
}

// write performs all other actions.
func (c *trialClient) write(ctx context.Context) error {
	for n := 0; ctx.Err() == nil; n++ {
		var err error
		switch kind := rand.IntN(20); {
		case kind < 8 && c.isIdle():
			err = c.turn()
		case kind < 12:
			_, err = c.do(c.session, &ahp.SessionTitleChangedAction{Title: fmt.Sprintf("%s writes %d", c.name, n)})
		case kind < 18:
			_, err = c.do(c.session+"/annotations", &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: ids.New(),
				Resource: "file://" + c.nodes.work() + "/notes", Origin: ahp.AnnotationOrigin{Session: c.session},
				Entries: []ahp.AnnotationEntry{{ID: ids.New(), Text: ahp.StringOrMarkdown{Text: fmt.Sprint("note ", n)}}}}})
		case kind == 18:
			_, err = c.create()
		default:
			err = c.reconnect()
		}
		if err != nil {
			return err
		}
		pause(ctx, 100*time.Millisecond)
	}
	return nil
}

// burst sends several actions at once, and starts turns, in a session that it does not follow.
func (c *trialClient) burst(ctx context.Context) error {
	for n := 0; ctx.Err() == nil; n++ {
		var sent []int64
		for i := range underway {
			sent = append(sent, c.send(c.session, &ahp.SessionTitleChangedAction{Title: fmt.Sprintf("stab %d of %d %s", i, n, ids.New())}))
		}
		if n%8 == 0 {
			sent = append(sent, c.send(c.chat, c.turnAction(ids.New())))
		}
		for _, seq := range sent {
			if _, err := c.answer(seq); err != nil {
				return err
			}
		}
		pause(ctx, 100*time.Millisecond)
	}
	return nil
}

// turn starts a turn whose shell command notes the turn in a file and prints.
func (c *trialClient) turn() error {
	_, err := c.do(c.chat, c.turnAction(ids.New()))
	return err
}

func (l *trialLoad) turnAction(id string) ahp.Action {
	return &ahp.ChatTurnStartedAction{TurnID: id, StartedAt: time.Now().UTC().Format(time.RFC3339), Message: ahp.Message{
		Text:   fmt.Sprintf("echo %s >>%s; for i in 1 2 3 4; do echo %[1]s $i; sleep 0.05; done", id, l.effects),
		Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}}
}

// watch moves from node to node.
func (c *trialClient) watch(ctx context.Context) error {
	for ctx.Err() == nil {
		pause(ctx, 2*time.Second)
		if err := c.reconnect(); err != nil {
			return err
		}
	}
	return nil
}
