package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
)

func TestPostWebhookOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		h := w.hook("owner", false)
		w.apply(session, approval("a1"))
		got := w.received()
		if len(got) != 1 {
			t.Fatalf("%d were posted", len(got))
		}
		p := got[0]
		want := payload{Version: 1, ID: p.body.ID, Event: Approval, At: "2000-01-01T00:00:00Z",
			Title: "Approval needed", Text: "Run command: npm test --token=…",
			URL: publicURL + "/s/short/c/one#tool-call%20a1", Session: inside{"short", "Fix the parser"}}
		if p.body != want || p.url != h.URL || p.header.Get("Webhook-Id") != p.body.ID {
			t.Errorf("posted is %+v %v", p.body, p.header)
		}
		at, _ := strconv.ParseInt(p.header.Get("Webhook-Timestamp"), 10, 64)
		if sig, err := sign(h.Secret, p.body.ID, time.Unix(at, 0), []byte(p.rawBody)); err != nil ||
			p.header.Get("Webhook-Signature") != sig {
			t.Errorf("the signature is %q, want %q", p.header.Get("Webhook-Signature"), sig)
		}
		if n := w.store.count(jobBucket) + w.store.count(noticeBucket); n != 0 {
			t.Errorf("%d are kept after all was delivered", n)
		}
		hooks, err := w.n.Hooks(t.Context(), "owner")
		if err != nil || len(hooks) != 1 || hooks[0].Last == nil || !hooks[0].Last.OK {
			t.Errorf("the page would say %+v, %v", hooks, err)
		}
	})
}

// The vector comes from the specification of Standard Webhooks.
func TestSignature(t *testing.T) {
	got, err := sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0),
		[]byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want || err != nil {
		t.Errorf("the signature is %s, %v; want %s", got, err, want)
	}
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.hook("owner", false)
		w.answer = func(n int) (int, http.Header) {
			switch n {
			case 0, 1:
				return 503, nil
			case 2:
				return 429, http.Header{"Retry-After": {"100"}}
			}
			return 204, nil
		}
		w.apply(session, ask("q1"))
		time.Sleep(time.Hour)
		got := w.received()
		if len(got) != 4 {
			t.Fatalf("%d attempts", len(got))
		}
		for i, most := range []float64{2, 6, 100} {
			if gap := got[i+1].at.Sub(got[i].at).Seconds(); gap < most || gap > most*1.25 {
				t.Errorf("attempt %d came after %.1f s, want %.0f to %.1f", i+2, gap, most, most*1.25)
			}
			if got[i+1].body.ID != got[0].body.ID {
				t.Error("an attempt has another id")
			}
		}
	})
}

func TestGivingUp(t *testing.T) {
	for name, test := range map[string]struct {
		status, attempts int
		gone             bool
		says             string
	}{
		"a receiver that is away":       {500, 11, false, "answered 500"},
		"one that leads elsewhere":      {302, 11, false, "redirects are not followed"},
		"one that wants no more at all": {410, 1, true, "410 Gone"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newMemory())
				h := w.hook("owner", false)
				w.set(func() { w.answer = func(int) (int, http.Header) { return test.status, nil } })
				w.apply(session, ask("q1"))
				time.Sleep(24 * time.Hour)
				hooks, _ := w.n.Hooks(t.Context(), "owner")
				if n := len(w.received()); n != test.attempts || w.store.count(jobBucket) != 0 ||
					(hooks[0].Gone != "") != test.gone || !strings.Contains(hooks[0].Last.Text, test.says) {
					t.Errorf("%d attempts, %d wait, the page says %+v %+v", n, w.store.count(jobBucket), hooks[0],
						hooks[0].Last)
				}
				w.apply(session, ask("q2"))
				if n := len(w.received()); (n == test.attempts) != test.gone {
					t.Errorf("%d attempts after the next event", n)
				}
				w.set(func() { w.answer = nil })
				if _, err := w.n.TestHook(t.Context(), "owner", h.ID); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := w.received(); got[len(got)-1].body.Event != Test {
					t.Errorf("the test did not come: %+v", got[len(got)-1].body)
				}
			})
		})
	}
}

// Deliveries pending when the program is killed are made after the next start, with the same id.
func TestCrashLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		w := newWorld(t, store)
		w.hook("owner", false)
		w.mailbox("owner")
		w.set(func() { w.answer = func(int) (int, http.Header) { return 500, nil } })
		w.mail = func() error { return errors.New("away") }
		w.apply(session, ask("q1"))
		first := w.received()[0].body.ID
		time.Sleep(gather + time.Second) // the mail was tried once
		w.stop()
		// Durable, but not fanned out.
		raw, _ := json.Marshal(Notice{ID: "0123", Kind: Failed, At: time.Now(),
			About: hub.ChannelInfo{URI: chat, Kind: ahp.ChannelChat, Session: session}, To: []string{"owner"}})
		_ = store.Put(t.Context(), noticeBucket, "0123", raw)

		w = newWorld(t, store)
		synctest.Wait()
		time.Sleep(time.Hour)
		var ids []string
		for _, p := range w.received() {
			ids = append(ids, p.body.ID)
		}
		if got := strings.Join(ids, " "); got != "0123 "+first && got != first+" 0123" {
			t.Errorf("after the start %q were posted, want %q and 0123", got, first)
		}
		if len(w.mails()) != 2 || store.count(jobBucket)+store.count(noticeBucket)+store.count(mailBucket) != 0 {
			t.Errorf("%d mails, and %v is left", len(w.mails()), store.docs)
		}
	})
}

// A host that is stopped during its start ends without an error.
func TestStopDuringStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.stop()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.n.Run(ctx); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestManyJobsForOneReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.n.cfg.Limits.Jobs = 10
		w.hook("owner", false)
		w.set(func() { w.answer = func(int) (int, http.Header) { return 500, nil } })
		for i := range 30 {
			w.apply(session, ask(fmt.Sprint("q", i)))
			time.Sleep(time.Millisecond)
		}
		if n := w.store.count(jobBucket); n > 10 {
			t.Errorf("%d wait", n)
		}
		w.set(func() { w.answer = nil })
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		got := w.received()
		if last := got[len(got)-1]; w.store.count(jobBucket) != 0 || last.body.Event != Question {
			t.Errorf("%d are left", w.store.count(jobBucket))
		}
	})
}

// A webhook of the host gets everything; a person's gets what concerns them, by their choices.
func TestWebhooksOfHostAndPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.people["person:ben"] = access.Principal{ID: "person:ben", Name: "Ben", Role: access.RoleViewer, Host: true}
		w.hook("owner", true)
		mine := w.hook("owner", false)
		bens := w.hook("person:ben", false)
		if err := func() error {
			_, err := w.n.RemoveHook(t.Context(), "person:ben",
				mine.ID)
			return err
		}(); !errors.Is(
			err, ErrNoHook) {
			t.Errorf("somebody removes another's webhook: %v", err)
		}
		count := func() int { n := len(w.received()); w.mu.Lock(); w.posts = nil; w.mu.Unlock(); return n }
		thread := func(id string) ahp.Action {
			return &ahp.AnnotationsSetAction{Annotation: ahp.Annotation{ID: id, Resource: "file:///a",
				Entries: []ahp.AnnotationEntry{entry("e", "owner", "hello")}}}
		}
		w.apply(annotations, thread("t1"))
		if n := count(); n != 1 {
			t.Errorf("a comment of the owner's own was posted %d times, want once: to the host's", n)
		}
		w.apply(session, ask("q1"))
		if n := count(); n != 2 {
			t.Errorf("a question was posted %d times, want twice", n)
		}
		w.change("owner", func(p *Prefs) { p.Mute(session, true) })
		w.apply(session, ask("q2"))
		if n := count(); n != 1 {
			t.Errorf("a question of a muted session was posted %d times", n)
		}
		w.change("owner", func(p *Prefs) { p.Mute(session, false); p.Choose(Webhook, []Kind{Failed}) })
		w.apply(session, ask("q3"))
		if n := count(); n != 1 {
			t.Errorf("what is switched off was posted %d times", n)
		}
		if _, err := w.n.RemoveHook(t.Context(), "person:ben", bens.ID); err != nil {
			t.Error(err)
		}
		for range w.n.cfg.Limits.Hooks - 1 {
			w.hook("owner", false)
		}
		if _, _, err := w.n.NewHook(t.Context(), Hook{Owner: "owner", URL: "https://hooks.example.com/"}); err == nil {
			t.Error("there is no end of webhooks")
		}
	})
}
