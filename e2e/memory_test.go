package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

var (
	memoryBurst = flag.Int("memory-burst", 48,
		"megabytes of text an agent sends in TestStalledReadersDoNotExhaustMemory")
	memoryReaders = flag.Int("memory-readers", 40, "connections that read none of it")
	memorySockets = flag.Int("memory-sockets", 600,
		"connections that TestConnectionsOfALinkAreBounded opens by one link")
)

// memoryGroup creates a control group with a memory limit below the current one and returns its
// directory; "" if that is impossible.
func memoryGroup(t *testing.T, limit int) string {
	t.Helper()
	for _, v := range []struct{ controller, mount, limit, swap string }{
		{"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", ""},
		{"", "/sys/fs/cgroup", "memory.max", "memory.swap.max"},
	} {
		parent, ok := groupOf(v.controller)
		if !ok {
			continue
		}
		dir := filepath.Join(v.mount, parent, fmt.Sprintf("ahphub-test-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if os.WriteFile(filepath.Join(dir, v.limit), []byte(strconv.Itoa(limit)), 0o644) != nil {
			continue
		}
		if v.swap != "" {
			_ = os.WriteFile(filepath.Join(dir, v.swap), []byte("0"), 0o644) // a system without swap has no such file
		}
		return dir
	}
	t.Log("this system lets no control group be made: only the process's own figures are checked")
	return ""
}

// groupOf returns the test's own group of a version 1 controller, or of version 2 for "".
func groupOf(controller string) (string, bool) {
	b, _ := os.ReadFile("/proc/self/cgroup") // absent on other systems
	for line := range strings.SplitSeq(string(b), "\n") {
		if f := strings.SplitN(line, ":", 3); len(f) == 3 && (f[1] == controller) {
			return f[2], true
		}
	}
	return "", false
}

// burst is a session whose agent sends text while others follow its chat.
type burst struct {
	t              *testing.T
	prog           *Program
	owner          *peer.Peer
	web            *http.Client
	session, chat  ahp.URI
	short, visitor string // token of a viewer
}

func newBurst(t *testing.T, ctx context.Context, o Options) *burst {
	t.Helper()
	o.Args = append(o.Args, "--agent", "script")
	prog := Start(t, o)
	owner := dial(t, ctx, prog, prog.Token())
	session := newOverProtocol(t, ctx, owner)
	if err := owner.Subscribe(ctx, session); err != nil {
		t.Fatal(err)
	}
	b := &burst{t: t, prog: prog, owner: owner, session: session}
	if err := owner.Wait(ctx, func() bool { return b.state() != nil && b.state().DefaultChat != "" }); err != nil {
		t.Fatal(err)
	}
	b.chat = b.state().DefaultChat
	b.web, _ = signIn(t, prog.SignIn())
	b.short = shortOf(t, b.web, prog, session)
	b.visitor = linkOver(t, b.web, prog, b.short, "viewer")
	return b
}

// running reports whether the agent is working in the chat.
func (b *burst) running() bool {
	for _, c := range b.state().Chats {
		if c.Resource == b.chat {
			return c.Status.Activity() == ahp.SessionStatusInProgress
		}
	}
	return false
}

func (b *burst) state() *ahp.SessionState {
	s, _ := b.owner.State(b.session).(*ahp.SessionState)
	return s
}

// say has the agent send this many megabytes and waits for the end of its turn.
func (b *burst) say(ctx context.Context, megabytes int) {
	b.t.Helper()
	orders := fmt.Sprintf("burst %d 65536", megabytes*16)
	turn := &ahp.ChatTurnStartedAction{TurnID: uuid.NewString(), Message: ahp.Message{Text: orders,
		Origin: ahp.MessageOrigin{Kind: ahp.MessageKindUser}}}
	if _, err := b.owner.Dispatch(ctx, b.chat, turn); err != nil {
		b.t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := b.owner.Wait(limited, func() bool { return b.running() == want }); err != nil {
			raw, _ := ahp.Marshal(b.state())
			b.t.Fatalf("running is not %v: %v; the session is %s", want, err, raw)
		}
	}
}

// stall opens a connection that follows the chat and reads nothing after the answer.
func (b *burst) stall(ctx context.Context, token string) (*websocket.Conn, error) {
	ws, err := b.ask(ctx, token)
	if err == nil {
		_, _, err = ws.Read(ctx)
	}
	return ws, err
}

// ask opens a connection that requests the chat and reads nothing.
func (b *burst) ask(ctx context.Context, token string) (*websocket.Conn, error) {
	narrow := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network,
		address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4 << 10)
		}
		return c, err
	}}}
	ws, res, err := websocket.Dial(ctx, b.prog.AHP, &websocket.DialOptions{HTTPClient: narrow,
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		if res != nil {
			err = fmt.Errorf("%s: %w", res.Status, err)
		}
		return nil, err
	}
	ws.SetReadLimit(-1)
	hello, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 0, "method": "initialize",
		"params": map[string]any{"channel": ahp.RootURI,
			"protocolVersions": []string{ahp.Version}, "clientId": uuid.NewString(),
			"initialSubscriptions": []ahp.URI{b.chat}}})
	return ws, ws.Write(ctx, websocket.MessageText, hello)
}

// stallMany opens concurrent connections and closes them with the test.
func (b *burst) stallMany(ctx context.Context, n int) (conns []*websocket.Conn, refused []error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			ws, err := b.stall(ctx, b.visitor)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused = append(refused, err)
				return
			}
			conns = append(conns, ws)
		})
	}
	wg.Wait()
	b.t.Cleanup(func() {
		for _, ws := range conns {
			_ = ws.CloseNow()
		}
	})
	return conns, refused
}

// smallMachine starts the program with 150 MB: in a control group if possible, otherwise with that
// limit of the Go runtime. fits fails the test if it used more.
func smallMachine(t *testing.T, ctx context.Context) (b *burst, fits func()) {
	t.Helper()
	const limit = 150 << 20
	if dir := memoryGroup(t, limit); dir != "" {
		// The system kills it above the limit. Temporary files may be in memory, which would count.
		data, err := os.MkdirTemp("/var/tmp", "ahphub-e2e-*")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(data) })
		return newBurst(t, ctx, Options{Group: dir, Data: data}), func() {}
	}
	b = newBurst(t, ctx, Options{Env: []string{"GOMEMLIMIT=" + strconv.Itoa(limit)}})
	return b, func() {
		t.Helper()
		if peak := peakOf(t, b.prog); peak > 2*limit { // without a control group, the limit is not enforced
			t.Errorf("the program took %d MB", peak>>20)
		}
	}
}

// TestStalledReadersDoNotExhaustMemory has an agent send more text than the process may use, to
// connections that read none of it.
func TestStalledReadersDoNotExhaustMemory(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	b, fits := smallMachine(t, ctx)
	_, refused := b.stallMany(ctx, *memoryReaders)
	if len(refused) > 0 {
		t.Fatalf("%d of %d viewers are refused: %v", len(refused), *memoryReaders, refused[0])
	}
	b.say(ctx, *memoryBurst)
	b.say(ctx, *memoryBurst)
	fits()
	turns := b.whole(ctx).Turns
	parts := turns[len(turns)-1].ResponseParts
	said, _ := parts[0].Value.(*ahp.MarkdownResponsePart)
	if end, ok := parts[len(parts)-1].Value.(*ahp.ErrorResponsePart); !ok || end.Error.ErrorType != "too_long" {
		t.Errorf("a turn of %d MB ends with %T", *memoryBurst, parts[len(parts)-1].Value)
	} else if said == nil || said.Content.Len() < 4<<20 {
		t.Error("what was said before the limit is gone")
	}
	b.readOn(said.Content.String())
	b.askMany(ctx)
	fits()
	t.Logf("the peak of memory was %d MB", peakOf(t, b.prog)>>20)
}

// askMany has viewers request the whole chat, and read nothing of the answer.
func (b *burst) askMany(ctx context.Context) {
	b.t.Helper()
	for range *memoryReaders {
		ws, err := b.ask(ctx, b.visitor)
		if err != nil {
			b.t.Fatal(err)
		}
		b.t.Cleanup(func() { _ = ws.CloseNow() })
	}
	b.whole(ctx) // follows all of them
}

// whole returns the complete chat as the owner gets it, and fails the test otherwise.
func (b *burst) whole(ctx context.Context) *ahp.ChatState {
	b.t.Helper()
	fresh, err := peer.Dial(ctx, b.prog.AHP, peer.Options{Token: b.prog.Token(), ClientID: uuid.NewString(),
		Trust: true})
	if err == nil {
		b.t.Cleanup(func() { _ = fresh.Close() })
		_, err = fresh.Initialize(ctx, b.chat)
	}
	if err != nil {
		b.t.Fatal("the owner is not given the chat: ", err)
	}
	return fresh.State(b.chat).(*ahp.ChatState)
}

var moreLink = regexp.MustCompile(`<p class="more"><a class="btn[^"]*" href="([^"]*)">`)

// readOn opens the chat without scripts and follows its links into the text of its last turn, of
// which each page shows little.
func (b *burst) readOn(text string) {
	b.t.Helper()
	pieces := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == 'x' || r == '\n' })
	last, seen := pieces[len(pieces)-1], 0
	code, page := get(b.t, b.web, b.prog.URL+"/s/"+b.short)
	if code != http.StatusOK || len(page) > 1<<20 || strings.Count(page, "not shown") < 2 ||
		!strings.Contains(page, last+" x") {
		b.t.Fatalf("the page of two turns of %d KB is %d, %d KB, with the end: %v", len(text)>>10, code, len(page)>>10,
			strings.Contains(page, last+" x"))
	}
	links := moreLink.FindAllStringSubmatch(page, -1)
	next, _, _ := strings.Cut(links[len(links)-1][1], "&amp;from=") // from the beginning
	for range 3 {
		code, piece := get(b.t, b.web, b.prog.URL+strings.ReplaceAll(next, "&amp;", "&"))
		if code != http.StatusOK || len(piece) > 1<<20 {
			b.t.Fatalf("%s is %d, %d KB", next, code, len(piece)>>10)
		}
		for seen < len(pieces) && strings.Contains(piece, pieces[seen]+" xxx") {
			seen++
		}
		m := moreLink.FindStringSubmatch(piece)
		if m == nil {
			b.t.Fatalf("%s leads nowhere", next)
		}
		next = m[1]
	}
	if seen < 5 {
		b.t.Errorf("three pages of the text have %d of its 64 KB pieces", seen)
	}
}

// TestUnfinishedFramesAreBounded has viewers send all but the end of a large frame.
func TestUnfinishedFramesAreBounded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	b, fits := smallMachine(t, ctx)
	conns, _ := b.stallMany(ctx, 40)
	ended := make(chan error, len(conns))
	for _, ws := range conns {
		go func() { _, _, err := ws.Read(ctx); ended <- err }()
		go func() {
			if w, err := ws.Writer(ctx, websocket.MessageText); err == nil {
				for range 8 * 16 {
					_, _ = w.Write(bytes.Repeat([]byte(" "), 64<<10)) // fails once the connection is refused
				}
			}
		}()
	}
	for range len(conns) - 2 { // one holds its share, and one may be about to
		if code := websocket.CloseStatus(<-ended); code != websocket.StatusTryAgainLater && code >= 0 {
			t.Errorf("a large frame over the bound ends its connection with %d", code)
		}
	}
	fits()
	if err := b.owner.Call(ctx, "ping", map[string]any{"channel": ahp.RootURI}, nil); err != nil {
		t.Error("the owner is not answered: ", err)
	}
	t.Logf("the peak of memory was %d MB", peakOf(t, b.prog)>>20)
}

// TestConnectionsOfALinkAreBounded opens more connections through one link than its guests may
// have, and then as the owner.
func TestConnectionsOfALinkAreBounded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	b, fits := smallMachine(t, ctx)
	conns, refused := b.stallMany(ctx, *memorySockets)
	if len(conns) > 512 || len(refused) == 0 || !strings.Contains(refused[0].Error(), "429") {
		t.Fatalf("%d connections by one link are open, %d refused: %v", len(conns), len(refused), refused)
	}
	dial(t, ctx, b.prog, b.prog.Token())
	res, err := b.web.Get(b.prog.URL + "/s/" + b.short)
	if err != nil {
		t.Fatal(err)
	}
	query, err := liveOf(res)
	if err != nil {
		t.Fatal(err)
	}
	if ws, err := dialLive(ctx, b.prog, b.web, query); err != nil {
		t.Error("the owner's page is not live: ", err)
	} else {
		_ = ws.CloseNow()
	}
	for _, ws := range conns {
		_ = ws.CloseNow()
	}
	waitUntil(t, "a place", func() error {
		ws, err := b.stall(ctx, b.visitor)
		if err == nil {
			_ = ws.CloseNow()
		}
		return err
	})
	fits()
}
