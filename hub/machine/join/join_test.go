package join

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub/machines"
)

// documents stores nothing.
type documents struct{}

func (documents) Put(context.Context, string, string, []byte) error { return nil }
func (documents) Delete(context.Context, string, string) error      { return nil }
func (documents) Each(context.Context, string, func(string, []byte) error) error {
	return nil
}

// plain seals nothing.
type plain struct{}

func (plain) Seal(value []byte) string                                     { return string(value) }
func (plain) Open(sealed string) ([]byte, error)                           { return []byte(sealed), nil }
func (plain) Reseal(sealed string) (again string, changed bool, err error) { return sealed, false, nil }

// site is a hub on its own port. It sends accepted machines to peers.
type site struct {
	*machines.Registry
	url   *url.URL
	peers chan *Peer
	errs  chan error
}

func newSite(t *testing.T) *site {
	t.Helper()
	registry, err := machines.Open(t.Context(), machines.Config{Docs: documents{},
		Seal: plain{}})
	if err != nil {
		t.Fatal(err)
	}
	hub, err := NewHub(registry, "v2", registry.Redeem)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Registry: registry, peers: make(chan *Peer, 1), errs: make(chan error, 1)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		peer, err := hub.Accept(ctx, websocket.NetConn(ctx, ws, websocket.MessageBinary))
		if err != nil {
			s.errs <- err
			return
		}
		s.peers <- peer
		<-ctx.Done()
	}))
	t.Cleanup(server.CloseClientConnections)
	if s.url, err = url.Parse(server.URL); err != nil {
		t.Fatal(err)
	}
	return s
}

func newPrivate(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// request returns a request with a fresh token.
func (s *site) request(t *testing.T, name string) Request {
	t.Helper()
	text, _, err := s.NewToken(t.Context(), "owner")
	if err != nil {
		t.Fatal(err)
	}
	invite, err := machines.ParseInvite(text)
	if err != nil {
		t.Fatal(err)
	}
	return Request{Hub: s.url, Key: newPrivate(t), HubKey: invite.Hub, Invite: &invite, Name: name,
		Report: machines.Report{Version: "v1"}}
}

func TestMachineJoinsAndComesBack(t *testing.T) {
	s := newSite(t)
	r := s.request(t, "box2")
	conn, welcome, err := Connect(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	peer := <-s.peers
	if welcome.Name != "box2" || !peer.Joined || peer.Machine.ID != welcome.ID || peer.Report.Version != "v1" {
		t.Fatalf("welcome %+v, peer %+v", welcome, peer)
	}
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	go func() {
		if _, err := conn.Write(sent); err != nil {
			t.Error(err)
		}
	}()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("what it sent afterwards arrived differently: %v", err)
	}
	r.Invite = nil
	_, again, err := Connect(t.Context(), r)
	if peer := <-s.peers; err != nil || again != welcome || peer.Joined {
		t.Errorf("it came back as %+v, %v; joined %t", again, err, peer.Joined)
	}
}

// A used token cannot be used again, and a revoked machine is always refused.
func TestUnwelcomeMachinesAreRefused(t *testing.T) {
	s := newSite(t)
	r := s.request(t, "box2")
	_, welcome, err := Connect(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	<-s.peers
	stolen, unknown, wrong, revoked := r, r, s.request(t, "box3"), r
	stolen.Key, stolen.Name = newPrivate(t), "box4"
	unknown.Key, unknown.Invite = newPrivate(t), nil
	wrong.Invite = &machines.Invite{Hub: wrong.HubKey, Secret: [16]byte{1, 2, 3}}
	revoked.Invite = nil
	if _, err := s.Revoke(t.Context(), welcome.ID); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		request Request
		want    error
	}{
		"a used token":            {stolen, machines.ErrWrongToken},
		"an unknown key":          {unknown, machines.ErrUnknown},
		"a token that is made up": {wrong, machines.ErrWrongToken},
		"a revoked machine":       {revoked, machines.ErrUnknown},
	} {
		_, _, err := Connect(t.Context(), c.request)
		refused, ok := errors.AsType[*RefusedError](err)
		if !ok || refused.Reason != c.want.Error() {
			t.Errorf("%s: %v", name, err)
		}
		if got := <-s.errs; !errors.Is(got, c.want) {
			t.Errorf("%s: the hub has %v", name, got)
		}
	}
	if len(s.List()) != 0 {
		t.Errorf("listed are %+v", s.List())
	}
}

// The machine sends its token only to the hub that issued it.
func TestMachineKnowsItsHub(t *testing.T) {
	s := newSite(t)
	r := s.request(t, "box2")
	r.HubKey = newPrivate(t).Public().(ed25519.PublicKey)
	if _, _, err := Connect(t.Context(), r); !errors.Is(err, ErrWrongHub) {
		t.Fatalf("connected to another hub: %v", err)
	}
	<-s.errs
	if len(s.Tokens()) != 1 {
		t.Error("the token was used")
	}
}

func TestPlainHTTPStaysOnThisComputer(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://hub.example.com": true, "http://127.0.0.1:8443": true, "http://localhost:1": true, "http://[::1]:1": true,
		"http://hub.example.com": false, "http://10.0.0.1": false, "ftp://hub": false, "hub.example.com": false,
		"https://ana:secret@hub.example.com": false, "http://127.0.0.1.example.com": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := CheckURL(u); (got == nil) != ok {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// A hub drops a machine that sends anything but a hello.
func TestHostileHello(t *testing.T) {
	for name, say := range map[string]string{
		"no TLS":      "GET / HTTP/1.1\r\n\r\n",
		"nothing":     "",
		"long record": "\x16\x03\x01\xff\xff" + strings.Repeat("x", 1<<16),
	} {
		s := newSite(t)
		ws, _, err := websocket.Dial(t.Context(), s.url.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		conn := websocket.NetConn(t.Context(), ws, websocket.MessageBinary)
		_, _ = io.WriteString(conn, say)
		conn.Close()
		if err := <-s.errs; err == nil {
			t.Errorf("%s: let in", name)
		}
	}
}

func FuzzReadMessage(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h hello
		if err := readMessage(bytes.NewReader(b), &h); err != nil {
			return
		}
		h.Report.Clean()
		var back bytes.Buffer
		if err := writeMessage(&back, h); err != nil && back.Len() > 0 {
			t.Error("a message was written by half")
		}
	})
}

// Incompatible releases both report which side needs an update, without using up the token; compatible ones exchange
// versions.
func TestReleasesThatDifferWorkOrSayWhatToUpdate(t *testing.T) {
	s := newSite(t)
	for name, test := range map[string]struct {
		speaks Range
		want   string
	}{
		"one release older": {Range{0, 1}, ""},
		"one release newer": {Range{1, 2}, ""},
		"too old":           {Range{-1, 0}, "this machine runs ahphub v1, which is too old for the hub with ahphub v2. Update ahphub on this machine"},
		"too new":           {Range{2, 3}, "the hub runs ahphub v2, which is too old for this machine with ahphub v1. Update ahphub on the hub"},
	} {
		r := s.request(t, "box-"+strings.ReplaceAll(name, " ", "-"))
		r.Speaks = test.speaks
		_, welcome, err := Connect(t.Context(), r)
		if test.want == "" {
			if err != nil || welcome.Version != "v2" {
				t.Errorf("%s: %+v, %v", name, welcome, err)
				continue
			}
			<-s.peers
			continue
		}
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: %v", name, err)
		}
		if _, final := errors.AsType[*RefusedError](err); final {
			t.Errorf("%s: it gives up", name)
		}
		<-s.errs
		r.Speaks = Range{}
		if _, _, err := Connect(t.Context(), r); err != nil {
			t.Errorf("%s: once updated: %v", name, err)
			continue
		}
		joined := (<-s.peers).Machine
		r.Invite, r.Speaks = nil, test.speaks
		if _, _, err := Connect(t.Context(), r); err == nil {
			t.Errorf("%s: a machine that joined is let in", name)
		}
		<-s.errs
		if now, _ := s.Lookup(joined.ID); now.Refused != test.want || now.Online {
			t.Errorf("%s: the hub knows %+v", name, now)
		}
	}
}
