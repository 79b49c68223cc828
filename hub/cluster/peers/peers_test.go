package peers

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/ahphub/ahphub/hub/cluster/clustertest"
)

// clock is a clock that tests can move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// world is a cluster of one node that other nodes join.
type world struct {
	t         *testing.T
	clock     *clock
	docs      *clustertest.Documents
	data      string
	node      *Node
	listener  *Listener
	authority *Authority
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: &clock{at: time.Now()}, docs: &clustertest.Documents{}, data: t.TempDir()}
	l := openPort(t)
	if err := bootstrap(w.data, "a", l.Addr().String(), w.clock.now()); err != nil {
		t.Fatal(err)
	}
	w.node = w.open(w.data)
	var err error
	if w.authority, err = OpenAuthority(t.Context(), AuthorityConfig{Node: w.node, Docs: w.docs, Seal: clustertest.Sealing{},
		Keys: func() ([]byte, error) { return []byte("keys"), nil }}); err != nil {
		t.Fatal(err)
	}
	w.listener = w.serve(w.node, l)
	w.listener.OnJoin(w.authority.Join)
	return w
}

func openPort(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func (w *world) open(data string) *Node {
	w.t.Helper()
	n, err := open(data, w.clock.now)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// serve answers requests with the name of the node that sent them.
func (w *world) serve(n *Node, on net.Listener) *Listener {
	w.t.Helper()
	l := n.listenOn(on)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := l.Serve(context.Background(), http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			m, ok := FromContext(r.Context())
			fmt.Fprint(rw, m.Name, " ", ok)
		})); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(func() { l.Close(); wg.Wait() })
	return l
}

func (w *world) token() string {
	w.t.Helper()
	token, err := w.authority.Token(w.t.Context(), time.Hour)
	if err != nil {
		w.t.Fatal(err)
	}
	return token
}

// join adds a node and opens its port.
func (w *world) join(name string) (*Node, *Listener) {
	w.t.Helper()
	data, l := w.t.TempDir(), openPort(w.t)
	if err := Join(w.t.Context(), w.token(), data, name, l.Addr().String(), "secrets.key", false); err != nil {
		w.t.Fatal(err)
	}
	n := w.open(data)
	return n, w.serve(n, l)
}

// get returns the name of this node as another node sees it.
func get(n *Node, name string) (string, error) {
	transport := n.Transport()
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get("http://" + name + "/")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestNodesAuthenticateEachOther(t *testing.T) {
	w := newWorld(t)
	b, lb := w.join("b")
	for _, c := range []struct {
		from *Node
		to   string
		want string
	}{{w.node, "b", "a true"}, {b, "a", "b true"}} {
		if got, err := get(c.from, c.to); got != c.want || err != nil {
			t.Errorf("%s asked %s and got %q, %v", c.from.Name(), c.to, got, err)
		}
	}
	to := lb.StreamLayer()
	go func() {
		if c, err := to.Accept(); err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	c, err := w.listener.StreamLayer().Dial(raft.ServerAddress(b.Address()), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "entry")
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "entry" {
		t.Errorf("the stream returned %q, %v", got, err)
	}
	if got, err := get(b, "c"); err == nil || !strings.Contains(err.Error(), "not a node") {
		t.Errorf("a request to an unknown node returned %q, %v", got, err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	w := newWorld(t)
	b, _ := w.join("b")
	for _, dir := range []string{w.node.dir, b.dir} {
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 2 {
			t.Errorf("%s has %v, %v", dir, files, err) // the log has the authority's key
		}
		for _, f := range files {
			if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the mode of %s is %v, %v", f.Name(), info.Mode(), err)
			}
		}
	}
	if keys, err := os.ReadFile(filepath.Join(filepath.Dir(b.dir), "secrets.key")); string(keys) != "keys" || err != nil {
		t.Errorf("the joined node has the keys %q, %v", keys, err)
	}
	if err := os.Chmod(filepath.Join(b.dir, nodeFile), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Dir(b.dir)); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that other users may read was accepted: %v", err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNoCluster) {
		t.Errorf("opening a directory without a cluster: %v", err)
	}
	if err := Bootstrap(w.data, "x", "127.0.0.1:1"); err == nil {
		t.Error("a node was bootstrapped twice")
	}
}

// The authority's key survives a crash between the log and its file, and each later leader can read
// it.
func TestStoreAuthorityKey(t *testing.T) {
	w := newWorld(t)
	b, _ := w.join("b")
	later, err := OpenAuthority(t.Context(), AuthorityConfig{Node: b, Docs: w.docs, Seal: clustertest.Sealing{}})
	if err != nil {
		t.Fatal(err)
	}
	if !later.key.Equal(w.authority.key) {
		t.Error("the next leader got a different key")
	}
	if _, err := OpenAuthority(t.Context(), AuthorityConfig{Node: b, Docs: &clustertest.Documents{}, Seal: clustertest.Sealing{}}); err == nil {
		t.Error("a node opened an authority without its key")
	}
	if n, locked, err := later.Reseal(t.Context()); n != 0 || locked != 0 || err != nil {
		t.Errorf("a key that was already sealed with the newest key was sealed again: %d, %d, %v", n, locked, err)
	}
}

func TestTokenWorksOnce(t *testing.T) {
	w := newWorld(t)
	token := w.token()
	errs := make(chan error, 4)
	for i := range cap(errs) {
		go func() {
			errs <- Join(t.Context(), token, t.TempDir(), fmt.Sprint("n", i), fmt.Sprint("127.0.0.1:", 1000+i), "k", false)
		}()
	}
	joined := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			joined++
		} else if !strings.Contains(err.Error(), "used or has expired") || !IsRefused(err) {
			t.Error(err)
		}
	}
	if joined != 1 || len(w.node.Members()) != 2 {
		t.Errorf("%d nodes joined with one token; the members are %v", joined, w.node.Members())
	}
	token = w.token()
	for _, c := range []struct{ name, address, want string }{
		{"a", "127.0.0.1:9", "already"}, {"z", w.node.Address(), "already"}, {"Z!", "127.0.0.1:9", "lower-case"},
		{"z", "0.0.0.0:9", "cannot connect"}, {"z", "nowhere", "host:port"},
	} {
		err := Join(t.Context(), token, t.TempDir(), c.name, c.address, "k", false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s at %s joined: %v", c.name, c.address, err)
		}
	}
	if err := Join(t.Context(), token, t.TempDir(), "z", "127.0.0.1:9", "k", false); err != nil {
		t.Errorf("a refusal consumed the token: %v", err)
	}
	token = w.token()
	w.clock.move(2 * time.Hour)
	if err := Join(t.Context(), token, t.TempDir(), "y", "127.0.0.1:10", "k", false); err == nil {
		t.Error("an expired token was accepted")
	}
	if _, err := w.authority.Token(t.Context(), 48*time.Hour); !IsRefused(err) {
		t.Errorf("a token was created for two days: %v", err)
	}
	for _, text := range []string{"", "ahc1.", "ahc1.AAAA", "ahj1." + token[5:], token[:20]} {
		if _, err := ParseInvite(text); err == nil || len(text) > 8 && strings.Contains(err.Error(), text) {
			t.Errorf("%q was accepted: %v", text, err)
		}
	}
}

func TestSendSecretOnlyToOwnCluster(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	asked := false
	other.listener.OnJoin(func(context.Context, JoinRequest) (JoinReply, error) {
		asked = true
		return JoinReply{}, errors.New("asked")
	})
	i, err := ParseInvite(w.token())
	if err != nil {
		t.Fatal(err)
	}
	i.Address = other.node.Address()
	err = Join(t.Context(), i.String(), t.TempDir(), "b", "127.0.0.1:9", "k", false)
	other.listener.Close() // waits for handshakes
	if !errors.Is(err, errWrongCluster) || asked {
		t.Errorf("the secret was sent to another cluster: %v, %v", asked, err)
	}
}

func TestCutOffRemovedNode(t *testing.T) {
	w := newWorld(t)
	b, _ := w.join("b")
	c, err := (layer{nil, b}).Dial(raft.ServerAddress(w.node.Address()), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in, err := w.listener.StreamLayer().Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := w.authority.Remove(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the stream of a removed node is still open")
	}
	if got, err := get(b, "a"); !errors.Is(err, ErrTurnedAway) {
		t.Errorf("a removed node got the answer %q, %v", got, err)
	}
	if _, err := w.authority.Renew(Member{Name: "b", Incarnation: b.id.incarnation}, nil); !IsRefused(err) {
		t.Errorf("the certificate of a removed node was renewed: %v", err)
	}
	again, _ := w.join("b")
	if got, err := get(again, "a"); got != "b true" {
		t.Errorf("the node that joined again got the answer %q, %v", got, err)
	}
	if got, err := get(b, "a"); err == nil {
		t.Errorf("the certificate from before the removal got the answer %q", got)
	}
	if members := w.open(w.data).Members(); len(members) != 2 || members[1].Incarnation != again.id.incarnation {
		t.Errorf("after a restart the members are %v", members)
	}
}

func TestRenewCertificates(t *testing.T) {
	w := newWorld(t)
	b, _ := w.join("b")
	ask := func(_ context.Context, request []byte) ([]byte, error) {
		return w.authority.Renew(w.node.Members()[1], request)
	}
	if b.isDue() {
		t.Error("a new certificate is due for renewal")
	}
	w.clock.move(certificateLife - renewBefore)
	if !b.isDue() {
		t.Fatal("a certificate is not due after 60 days")
	}
	before, key := b.Expires(), b.certificate().PrivateKey.(ed25519.PrivateKey)
	ctx, cancel := context.WithCancel(t.Context())
	b.KeepFresh(ctx, func(ctx context.Context, request []byte) ([]byte, error) {
		defer cancel()
		return ask(ctx, request)
	}, func(err error) { t.Error(err) })
	if err := w.node.Renew(t.Context(), func(_ context.Context, r []byte) ([]byte, error) {
		return w.authority.Renew(w.node.Members()[0], r)
	}); err != nil {
		t.Fatal(err)
	}
	if !b.Expires().After(before) || key.Equal(b.certificate().PrivateKey) {
		t.Error("the certificate has its old key or expiry")
	}
	w.clock.move(renewBefore + time.Hour) // the first certificates have expired
	if got, err := get(w.open(filepath.Dir(b.dir)), "a"); got != "b true" || err != nil {
		t.Errorf("after a restart, the renewed certificate got the answer %q, %v", got, err)
	}
	if err := b.Renew(t.Context(), func(_ context.Context, request []byte) ([]byte, error) {
		return w.authority.Renew(w.node.Members()[0], request)
	}); err == nil || !strings.Contains(err.Error(), "another node") {
		t.Errorf("a node accepted another node's certificate: %v", err)
	}
}

// A list that could not be saved is saved once it can be.
func TestSaveMembersAfterFailure(t *testing.T) {
	w := newWorld(t)
	members := w.node.Members()
	members = append(members, Member{Name: "b", Address: "10.0.0.2:8138", Incarnation: "i", Joined: w.clock.now().UTC()})
	away := w.node.dir + ".away"
	if err := os.Rename(w.node.dir, away); err != nil {
		t.Fatal(err)
	}
	if err := w.node.SetMembers(members); err == nil {
		t.Fatal("the members were saved nowhere")
	}
	if err := os.Rename(away, w.node.dir); err != nil {
		t.Fatal(err)
	}
	if err := w.node.SetMembers(members); err != nil {
		t.Fatal(err)
	}
	if got := len(w.open(w.data).Members()); got != 2 {
		t.Errorf("the next start knows %d members", got)
	}
}
