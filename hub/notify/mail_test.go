package notify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestGatherMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.mailbox("owner")
		w.apply(session, ask("q1"))
		time.Sleep(time.Second)
		w.apply(session, approval("a1"))
		w.apply(session, ask("q2"))
		w.apply(session, &ahp.SessionInputNeededRemovedAction{ID: "q2"}) // it was answered, so no mail mentions it
		time.Sleep(gather)
		synctest.Wait()
		got := w.mails()
		if len(got) != 1 {
			t.Fatalf("%d mails", len(got))
		}
		m := got[0]
		if m.To != "ana@example.com" || m.Subject != "2 notifications: 1 to approve, 1 asked" ||
			strings.Count(m.Text, publicURL+"/s/short/c/one#") != 2 {
			t.Errorf("the mail is %+v", m)
		}
		if strings.Contains(m.Text+m.HTML+m.Subject, "abcdef123456") || !strings.Contains(m.HTML, "token=…") {
			t.Errorf("the mail says a secret, or nothing:\n%s", m.HTML)
		}
		if w.mailed[0].Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) > gather+time.Second {
			t.Errorf("it came at %v", w.mailed[0])
		}
	})
}

func TestSubjectOfSingleNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.mailbox("owner")
		w.apply(session, &ahp.SessionTitleChangedAction{Title: "Fix\r\nBcc: everybody@example.com <b>"})
		w.apply(session, ask("q1"))
		time.Sleep(time.Minute)
		synctest.Wait()
		m := w.mails()[0]
		if m.Subject != "Asks you something · Fix" || strings.Contains(m.HTML, "<b>\"") {
			t.Errorf("the subject is %q", m.Subject)
		}
	})
}

func TestDigestDueTime(t *testing.T) {
	came := time.Date(2026, 3, 28, 22, 40, 10, 5, time.UTC) // the night before clocks change in Berlin
	for name, test := range map[string]struct {
		box  Mailbox
		want string
	}{
		"at once":                  {Mailbox{}, "2026-03-28T22:40:12Z"},
		"hourly":                   {Mailbox{Rhythm: Hourly}, "2026-03-28T23:00:00Z"},
		"hourly, half an hour off": {Mailbox{Rhythm: Hourly, Zone: "Asia/Kolkata"}, "2026-03-28T23:30:00Z"},
		"daily":                    {Mailbox{Rhythm: Daily, Minute: 8 * 60}, "2026-03-29T08:00:00Z"},
		"daily, later that day":    {Mailbox{Rhythm: Daily, Minute: 23 * 60}, "2026-03-28T23:00:00Z"},
		"daily in Berlin": {Mailbox{Rhythm: Daily, Minute: 8 * 60, Zone: "Europe/Berlin"},
			"2026-03-29T06:00:00Z"},
		"daily in Los Angeles": {Mailbox{Rhythm: Daily, Minute: 16 * 60, Zone: "America/Los_Angeles"},
			"2026-03-28T23:00:00Z"},
		"daily in a zone that is gone": {Mailbox{Rhythm: Daily, Minute: 8 * 60, Zone: "Nowhere/At_All"},
			"2026-03-29T08:00:00Z"},
	} {
		got := test.box.due(came).UTC().Truncate(time.Second).Format(time.RFC3339)
		if got != test.want {
			t.Errorf("%s: due is %s, want %s", name, got, test.want)
		}
	}
}

func TestDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.mailbox("owner")
		w.change("owner", func(p *Prefs) {
			if err := p.Mail.SetRhythm(Daily, "08:30", "UTC"); err != nil {
				t.Error(err)
			}
		})
		w.apply(session, ask("q1"))
		time.Sleep(8 * time.Hour)
		w.apply(session, ask("q2"))
		if n := len(w.mails()); n != 0 {
			t.Errorf("%d mails before it is time", n)
		}
		time.Sleep(31 * time.Minute)
		synctest.Wait()
		if got := w.mails(); len(got) != 1 || got[0].Subject != "2 notifications: 2 asked" {
			t.Errorf("mailed is %+v", got)
		}
		w.apply(session, ask("q3"))
		w.change("owner", func(p *Prefs) { p.Mail.Rhythm = AtOnce })
		if err := w.n.Reschedule(t.Context(), "owner"); err != nil {
			t.Error(err)
		}
		time.Sleep(gather)
		synctest.Wait()
		if n := len(w.mails()); n != 2 {
			t.Errorf("%d mails once they are to come at once", n)
		}
	})
}

func TestNoMail(t *testing.T) {
	for name, change := range map[string]func(*Prefs){
		"not verified":   func(p *Prefs) { p.Mail.Verified = false },
		"paused":         func(p *Prefs) { p.Paused = true },
		"muted":          func(p *Prefs) { p.Mute(session, true) },
		"not chosen":     func(p *Prefs) { p.Choose(Mail, []Kind{Failed}) },
		"paused at last": nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, newMemory())
				w.mailbox("owner")
				if change != nil {
					w.change("owner", change)
				}
				w.apply(session, ask("q1"))
				if change == nil {
					w.change("owner", func(p *Prefs) { p.Paused = true })
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if got := w.mails(); len(got) != 0 || w.store.count(mailBucket)+w.store.count(jobBucket) != 0 {
					t.Errorf("mailed is %+v, and %v is left", got, w.store.docs)
				}
			})
		})
	}
}

func TestRetryMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.mailbox("owner")
		tries := 0
		w.mail = func() error {
			if tries++; tries < 3 {
				return errors.New("the mail server did not take it: away")
			}
			return nil
		}
		w.apply(session, ask("q1"))
		time.Sleep(gather + time.Second)
		if last, ok := w.n.LastMail(t.Context(), "owner"); !ok || last.OK || last.Again.IsZero() ||
			!strings.Contains(last.Text, "away") {
			t.Errorf("the page would say %+v", last)
		}
		time.Sleep(time.Minute)
		if last, _ := w.n.LastMail(t.Context(), "owner"); len(w.mails()) != 1 || !last.OK || last.Attempts != 3 {
			t.Errorf("%d mails, the page would say %+v", len(w.mails()), last)
		}
		w.set(func() { w.mail = func() error { return final{errors.New("the mail server refused: no such mailbox")} } })
		w.apply(session, ask("q2"))
		time.Sleep(time.Hour)
		if last, _ := w.n.LastMail(t.Context(), "owner"); last.Attempts != 1 || !last.Again.IsZero() ||
			w.store.count(jobBucket) != 0 {
			t.Errorf("the page would say %+v", last)
		}
	})
}

func TestVerifyAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, w := context.Background(), newWorld(t, newMemory())
		code := func() string {
			t.Helper()
			if err := w.n.SetAddress(ctx, "owner", " ana@example.com "); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			got := w.mails()
			return strings.Fields(got[len(got)-1].Text)[0]
		}
		c := code()
		w.apply(session, ask("q1"))
		time.Sleep(time.Minute)
		if n := len(w.mails()); n != 1 {
			t.Errorf("%d mails went to an address that nobody verified", n)
		}
		wrong := "000000"
		if c == wrong {
			wrong = "000001"
		}
		for range maxTries {
			if err := w.n.Verify(ctx, "owner", wrong); err == nil {
				t.Error("a wrong code counts")
			}
		}
		if err := w.n.Verify(ctx, "owner", c); err == nil || !strings.Contains(err.Error(), "too many") {
			t.Errorf("after too many wrong codes: %v", err)
		}
		c = code()
		time.Sleep(codeLife + time.Second)
		if err := w.n.Verify(ctx, "owner", c); err == nil {
			t.Error("an old code counts")
		}
		c = code()
		if err := w.n.Verify(ctx, "owner", c[:3]+" "+c[3:]); err != nil {
			t.Error(err)
		}
		w.apply(session, ask("q2"))
		time.Sleep(time.Minute)
		got := w.mails()
		last := got[len(got)-1]
		if last.Unsubscribe == "" || !strings.Contains(last.Subject, "Asks") {
			t.Fatalf("the last mail is %+v", last)
		}
		token := strings.TrimPrefix(last.Unsubscribe, publicURL+"/unsubscribe?token=")
		if _, _, err := w.n.Unsubscribe(ctx, token+"x"); !errors.Is(err, ErrNotSubscribed) {
			t.Errorf("another's link: %v", err)
		}
		if _, a, err := w.n.Unsubscribes(ctx, token); a != "ana@example.com" || err != nil {
			t.Errorf("the link is to %q, %v", a, err)
		}
		if who, _, err := w.n.Unsubscribe(ctx, token); who != "owner" || err != nil {
			t.Errorf("unsubscribed is %q, %v", who, err)
		}
		w.apply(session, ask("q3"))
		time.Sleep(time.Minute)
		if n := len(w.mails()); n != len(got) {
			t.Error("mail comes after unsubscribing")
		}
		for range maxCodes {
			_ = w.n.SetAddress(ctx, "owner", "other@example.com")
		}
		if err := w.n.SetAddress(ctx, "owner", "other@example.com"); err == nil || !strings.Contains(err.Error(),
			"hour") {
			t.Errorf("codes are sent without end: %v", err)
		}
	})
}

func TestAddresses(t *testing.T) {
	for s, ok := range map[string]bool{
		"ana@example.com": true, "a.b+c@sub.example.org": true,
		"": false, "ana": false, "ana@": false, "ana@example": false, "Ana <ana@example.com>": false,
		"ana@example.com\r\nBcc: x@example.com": false, "ana@example.com\n": true, // trailing whitespace is trimmed
		"ana@example.com,ben@example.com": false, "\"a b\"@example.com": false, "ana@exämple.com": false,
		"<ana@example.com>": false, "ana@[127.0.0.1]": false, strings.Repeat("a", 250) + "@example.com": false,
	} {
		if got, err := Address(s); (err == nil) != ok || strings.ContainsAny(got, "\r\n ,<>") {
			t.Errorf("%q is an address: %t, %q", s, !ok, got)
		}
	}
}

func TestSweepRemovedAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		for _, who := range []string{"owner", "guest:here", "guest:gone"} {
			w.change(who, func(p *Prefs) { p.Paused = true })
		}
		if err := w.n.Sweep(t.Context(), func(who string) bool { return who == "guest:gone" }); err != nil {
			t.Error(err)
		}
		if _, kept, _ := w.store.Get(t.Context(), prefsBucket, "guest:here"); !kept || w.store.count(prefsBucket) != 2 {
			t.Errorf("%d are kept", w.store.count(prefsBucket))
		}
	})
}

func TestNewerCodeReplacesOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		away := true
		w.mail = func() error {
			if away {
				return errors.New("away")
			}
			return nil
		}
		for range 2 {
			if err := w.n.SetAddress(t.Context(), "owner", "ana@example.com"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		w.set(func() { away = false })
		time.Sleep(time.Hour)
		if n := len(w.mails()); n != 1 || w.store.count(jobBucket) != 0 {
			t.Errorf("%d codes were sent, %d wait", n, w.store.count(jobBucket))
		}
	})
}

func TestDigestIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		w.mailbox("owner")
		w.change("owner", func(p *Prefs) { p.Mail.Rhythm = Daily })
		for i := range maxGathered + 50 {
			w.apply(session, ask(fmt.Sprint("q", i)))
		}
		if n := w.store.count(mailBucket); n != maxGathered {
			t.Errorf("%d are gathered", n)
		}
		time.Sleep(25 * time.Hour)
		if got := w.mails(); len(got) != 1 || !strings.Contains(got[0].Text, "And 900 earlier ones.") ||
			!strings.HasPrefix(got[0].Subject, "1000 notifications") || w.store.count(mailBucket) != 0 {
			t.Errorf("%d mails, %d are left", len(got), w.store.count(mailBucket))
		}
	})
}
