package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/notify/webpush"
	"github.com/ahphub/ahphub/hub/notify/webpush/webpushtest"
	"github.com/ahphub/ahphub/hub/review"
)

// pushWorld is a world whose receivers are browsers at a push service.
type pushWorld struct {
	*world
	service *webpushtest.Service
}

func newPushWorld(t *testing.T, store *memory) *pushWorld {
	t.Helper()
	p := &pushWorld{newWorld(t, store), &webpushtest.Service{Origin: "https://push.example.com"}}
	p.service.Key = p.n.PushKey()
	p.set(func() { p.pushes = p.service })
	t.Cleanup(func() {
		for _, err := range p.service.Problems() {
			t.Error("the push service says:", err)
		}
	})
	return p
}

// add subscribes a browser of a person.
func (p *pushWorld) add(owner, name string) Device {
	p.t.Helper()
	d, err := p.n.AddDevice(context.Background(), Device{Owner: owner, Browser: owner + "/" + name, Agent: "Firefox/140.0"},
		subscriptionOf(p.service.Subscribe(name)))
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

func subscriptionOf(b *webpushtest.Browser) webpush.Subscription {
	key, secret := b.Keys()
	return webpush.Subscription{Endpoint: b.Endpoint, Key: key, Secret: secret}
}

// shown returns what the browsers were sent, as "name: title".
func (p *pushWorld) shown() (out []string) {
	for _, m := range p.service.Messages() {
		var x pushed
		if err := json.Unmarshal(m.Text, &x); err != nil {
			p.t.Errorf("a message is %q: %v", m.Text, err)
		}
		out = append(out, strings.TrimPrefix(m.Path, "/push/")+": "+x.Title)
	}
	return out
}

func (p *pushWorld) expect(want ...string) {
	p.t.Helper()
	synctest.Wait()
	if got := p.shown(); fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Errorf("pushed are %q, want %q", got, want)
	}
}

func TestPushToEachDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPushWorld(t, newMemory())
		p.add("owner", "laptop")
		p.add("owner", "phone")
		p.apply(session, approval("a1"))
		title := "Approval needed · Fix the parser"
		if got := p.shown(); len(got) != 2 || got[0][strings.Index(got[0], ": ")+2:] != title || got[0] == got[1] {
			t.Fatalf("pushed are %q", got)
		}
		m := p.service.Messages()[0]
		var x pushed
		if err := json.Unmarshal(m.Text, &x); err != nil || x.Session != "short" || x.Kind != Approval ||
			x.Path != "/s/short/c/one#tool-call%20a1" || !strings.Contains(x.Text, "npm test") ||
			bytes.Contains(m.Text, []byte("abcdef123456")) {
			t.Errorf("pushed is %s, %v", m.Text, err)
		}
		if h := m.Header; h.Get("Urgency") != "high" || h.Get("Ttl") != "86400" || m.Subject != publicURL {
			t.Errorf("pushed with %v for %s", h, m.Subject)
		}
		if bytes.Contains(p.store.stored(), []byte("push.example.com")) {
			t.Error("the address of a device is stored in plain text")
		}
	})
}

func TestPushOnlyWhatAPersonMayStillSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPushWorld(t, newMemory())
		ben := access.Principal{ID: "person:ben", Name: "Ben", Role: access.RoleDriver, Host: true, Approve: true, Prompt: true}
		setBen := func() { p.set(func() { p.people["person:ben"] = ben }) }
		setBen()
		p.review.People = append(p.review.People, review.Person{ID: "person:ben", Name: "Ben"})
		p.add("person:ben", "bens")
		hold := webpushtest.Answer{Status: 503}

		p.service.Answer(hold)
		p.apply(session, ask("q1"))
		p.expect()
		ben.Prompt = false // they may no longer answer
		setBen()
		time.Sleep(time.Minute)
		p.expect()

		ben.Prompt = true
		setBen()
		p.service.Answer(hold)
		p.apply(session, ask("q2"))
		p.apply(session, &ahp.SessionInputNeededRemovedAction{ID: "q2"})
		time.Sleep(time.Minute)
		p.expect()

		p.service.Answer(hold)
		p.apply(session, ask("q3"))
		p.change("person:ben", func(x *Prefs) { x.Paused = true })
		time.Sleep(time.Minute)
		p.expect()

		p.change("person:ben", func(x *Prefs) { x.Paused = false })
		p.service.Answer(hold)
		p.apply(session, ask("q4"))
		time.Sleep(time.Minute)
		p.expect("bens: Asks you something · Fix the parser")

		p.set(func() { p.left["person:ben/bens"] = true }) // removed, or signed out
		p.apply(session, ask("q5"))
		p.expect("bens: Asks you something · Fix the parser")
		if n := p.store.count(deviceBucket) + p.store.count(jobBucket); n != 0 {
			t.Errorf("%d documents are left of a device that was signed out", n)
		}
	})
}

func TestSweepDevicesOfSignedOutBrowsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPushWorld(t, newMemory())
		p.add("owner", "laptop")
		gone := p.add("owner", "phone")
		p.set(func() { p.left["owner/phone"] = true })
		if err := p.n.SweepDevices(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list, err := p.n.Devices(t.Context(), "owner"); err != nil || len(list) != 1 || list[0].ID == gone.ID {
			t.Errorf("left are %+v, %v", list, err)
		}
	})
}

func TestPushServiceAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPushWorld(t, newMemory())
		d := p.add("owner", "laptop")
		p.service.Answer(webpushtest.Answer{Status: 429, RetryAfter: "300"})
		p.apply(session, ask("q1"))
		time.Sleep(299 * time.Second)
		p.expect()
		time.Sleep(2 * time.Minute)
		p.expect("laptop: Asks you something · Fix the parser")

		p.service.Answer(webpushtest.Answer{Status: 400})
		p.apply(session, ask("q2"))
		list, err := p.n.Devices(t.Context(), "owner")
		if err != nil || len(list) != 1 || !strings.Contains(list[0].Last.Text, "400. Remove this device") ||
			!list[0].Last.Again.IsZero() {
			t.Errorf("after a refusal: %+v, %v", list, err)
		}
		for _, status := range []int{404, 410} {
			p.add("owner", "laptop")
			p.service.Answer(webpushtest.Answer{Status: status})
			p.apply(session, ask(fmt.Sprint("q", status)))
			if n := p.store.count(deviceBucket) + p.store.count(jobBucket); n != 0 {
				t.Errorf("%d documents are left after %d", n, status)
			}
			if _, err := p.n.TestDevice(t.Context(), "owner", d.ID); !errors.Is(err, ErrNoDevice) {
				t.Errorf("a test after %d: %v", status, err)
			}
		}
	})
}

func TestPushOutlivesCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		p := newPushWorld(t, store)
		p.add("owner", "laptop")
		p.service.Answer(webpushtest.Answer{Status: 503})
		p.change("owner", func(x *Prefs) { x.Choose(Browser, []Kind{Finished}) })
		p.apply(chat, &ahp.ChatTurnStartedAction{TurnID: "t1"})
		p.apply(chat, &ahp.ChatTurnCompleteAction{TurnID: "t1"})
		p.expect()
		p.stop()
		again := newPushWorld(t, store)
		if again.n.PushKey() != p.n.PushKey() {
			t.Fatal("another key after a restart")
		}
		again.set(func() { again.pushes = p.service })
		time.Sleep(time.Minute)
		p.expect("laptop: Finished · Fix the parser")
		again.stop()
	})
}

func TestDevicesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPushWorld(t, newMemory())
		for i := range 10 {
			p.add("owner", fmt.Sprint(i))
		}
		_, err := p.n.AddDevice(t.Context(), Device{Owner: "owner", Browser: "owner/x"},
			subscriptionOf(p.service.Subscribe("x")))
		if !errors.As(err, new(*RefusedError)) || !strings.Contains(err.Error(), "already 10 devices") {
			t.Errorf("one more device: %v", err)
		}
		p.add("owner", "3") // once more
		p.add("person:ben", "his")
		if _, err := p.n.RemoveDevice(t.Context(), "person:ben", deviceID("owner/3")); !errors.Is(err, ErrNoDevice) {
			t.Errorf("another person's device is removed: %v", err)
		}
		if _, err := p.n.TestDevice(t.Context(), "person:ben", deviceID("owner/3")); !errors.Is(err, ErrNoDevice) {
			t.Errorf("another person's device is tested: %v", err)
		}
		if n := p.store.count(deviceBucket); n != 11 {
			t.Errorf("%d devices are stored", n)
		}
	})
}

func TestRefusePushEndpoints(t *testing.T) {
	closed, open := newPoster(nil, time.Second), newPoster([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("10.0.0.0/8")}, time.Second)
	for endpoint, want := range map[string][2]bool{
		"https://updates.push.services.mozilla.com/wpush/v2/x": {true, true},
		"https://127.0.0.1:8443/x":                             {false, true},
		"http://127.0.0.1:8080/x":                              {false, true},
		"http://10.1.2.3/x":                                    {}, // without TLS, only on this computer
		"http://push.example.com/x":                            {},
		"http://localhost/x":                                   {},
		"https://169.254.169.254/latest":                       {}, "https://[::1]/": {}, "https://192.168.1.1/": {},
		"https://user:pw@push.example.com/": {}, "file:///etc/passwd": {}, "": {},
		"https://push.example.com/" + strings.Repeat("x", 3000): {},
	} {
		for i, p := range []*poster{closed, open} {
			if err := p.checkEndpoint(endpoint); (err == nil) != want[i] {
				t.Errorf("%.60q is checked with %v: %v", endpoint, p.allow, err)
			}
		}
	}
}

func TestPushDoesNotReachPrivateAddresses(t *testing.T) {
	service := &webpushtest.Service{}
	srv := httptest.NewTLSServer(service)
	defer srv.Close()
	p := newPoster(nil, time.Second)
	byName := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	if err := p.checkEndpoint(byName); err != nil {
		t.Fatal("names are checked when they are connected to:", err)
	}
	_, _, err := p.send(t.Context(), byName, map[string][]string{}, nil)
	if _, refused := errors.AsType[*refusedAddress](err); !refused {
		t.Errorf("a name of this computer is connected to: %v", err)
	}
}

func TestLostPushKeyIsReplacedByOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		p := newPushWorld(t, store)
		d := p.add("owner", "laptop")
		old := p.n.PushKey()
		if err := p.n.ResetPush(t.Context()); err == nil || p.n.PushKey() != old {
			t.Error("a key that is there is replaced")
		}
		p.stop()
		store.keys = nil
		p = newPushWorld(t, store)
		defer p.stop()
		if p.n.PushKey() != "" || p.n.PushesTo(t.Context(), "owner", "owner/laptop") {
			t.Error("a locked key is used")
		}
		if _, err := p.n.TestDevice(t.Context(), "owner", d.ID); !errors.Is(err, ErrPushLocked) {
			t.Errorf("a test without the key: %v", err)
		}
		if _, locked, err := p.n.Reseal(t.Context()); locked != 2 || err != nil {
			t.Errorf("%d are locked, %v", locked, err)
		}
		if err := p.n.ResetPush(t.Context()); err != nil || p.n.PushKey() == "" || p.n.PushKey() == old {
			t.Errorf("a new key: %q, %v", p.n.PushKey(), err)
		}
		if n := store.count(deviceBucket); n != 0 {
			t.Errorf("%d devices of the old key are left", n)
		}
		p.service.Key = p.n.PushKey()
		p.add("owner", "laptop")
		p.apply(session, ask("q1"))
		p.expect("laptop: Asks you something · Fix the parser")
	})
}

func TestResealDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPushWorld(t, newMemory())
		d := p.add("owner", "laptop")
		before := p.n.PushKey()
		if err := p.n.cfg.Keys.Rotate(t.Context(), p.n); err != nil {
			t.Fatal(err)
		}
		for _, sealed := range []string{string(p.store.docs[pushKeyBucket][pushKeyName]), sealedOf(t, p.store, d.ID)} {
			if !p.n.cfg.Keys.IsCurrent(sealed) {
				t.Errorf("%.20s… is sealed with an older key", sealed)
			}
		}
		if err := p.n.OpenPush(t.Context()); err != nil || p.n.PushKey() != before {
			t.Error("the key was changed", err)
		}
		if _, err := p.n.TestDevice(t.Context(), "owner", d.ID); err != nil {
			t.Fatal(err)
		}
		p.expect("laptop: Test notification")
	})
}

func sealedOf(t *testing.T, m *memory, id string) string {
	t.Helper()
	var d Device
	if err := json.Unmarshal(m.docs[deviceBucket][id], &d); err != nil {
		t.Fatal(err)
	}
	return d.Sealed
}

func TestLongestPushMessage(t *testing.T) {
	long := strings.Repeat("𝔸", longestLine)
	x := Notice{ID: strings.Repeat("i", 26), Kind: Approval, Short: "0de0509259c5", Session: long[:80*4],
		Title: "Approval needed by " + long[:60*4], Text: long, Path: anchor("/s/0de0509259c5/c/x", "tool-"+strings.Repeat("é", 2000))}
	raw, err := pushMessage(&x)
	if err != nil || len(raw) > webpush.MaxMessage {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	var got pushed
	if err := json.Unmarshal(raw, &got); err != nil || got.Text != long || got.Path != "/s/0de0509259c5/c/x" {
		t.Errorf("left is %.100s, %v", raw, err)
	}
}
