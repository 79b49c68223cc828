package pages_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	accounts "github.com/ahphub/ahphub/hub/people"
)

// signedIn is a list of browsers that can be signed out.
type signedIn struct{ list []accounts.Browser }

func (s *signedIn) Browsers(*http.Request) ([]accounts.Browser, error) { return s.list, nil }
func (s *signedIn) SignOutBrowser(_ context.Context, key string) error {
	for i, b := range s.list {
		if b.Key == key {
			s.list = append(s.list[:i:i], s.list[i+1:]...)
			break
		}
	}
	return nil
}
func (s *signedIn) SignOutOthers(*http.Request) (int, error) {
	s.list = s.list[:1]
	return 1, nil
}

func (s *signedIn) Key(*http.Request) string { return s.list[0].Key }

func (s *signedIn) SignOutAccount(_ context.Context, account string) (n int, err error) {
	s.list = slices.DeleteFunc(s.list, func(b accounts.Browser) bool { return b.ID == account })
	return 0, nil
}

type events []audit.Entry

func (e events) Each(_ context.Context, visit func(audit.Entry) error) error {
	for _, x := range e {
		if err := visit(x); err != nil {
			return err
		}
	}
	return nil
}

// Page uses numbers as positions.
func (e events) Page(_ context.Context, q audit.Query) (p audit.Page, err error) {
	at := len(e)
	if q.Before != "" {
		if at, err = strconv.Atoi(q.Before); err != nil {
			return p, audit.ErrPage
		}
	}
	for ; at > 0 && len(p.Entries) < q.Limit; at-- {
		if q.Match(e[at-1]) {
			p.Entries = append(p.Entries, e[at-1])
		}
	}
	if at > 0 {
		p.Next = strconv.Itoa(at)
	}
	return p, nil
}

// linkStore is a store of documents that keeps nothing.
type linkStore struct{}

func (linkStore) Put(context.Context, string, string, []byte) error { return nil }
func (linkStore) Delete(context.Context, string, string) error      { return nil }
func (linkStore) Each(context.Context, string, func(string, []byte) error) error {
	return nil
}

func TestPeoplePage(t *testing.T) {
	s := open(t)
	links, err := access.OpenLinks(t.Context(), linkStore{})
	if err != nil {
		t.Fatal(err)
	}
	in := &signedIn{[]accounts.Browser{
		{Key: "k1", Account: accounts.Account{ID: "owner"}, This: true,
			Agent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"},
		{Key: "k2", Account: accounts.Account{ID: "owner"}, Agent: "Mozilla/5.0 (iPhone) Safari/604.1"},
		{Key: "k3", Account: accounts.Account{ID: "guest:1", Name: "Ben", Link: "l"}},
	}}
	s.pages.Links, s.pages.People.Browsers = links, in
	base, _ := s.session()

	made := s.url + base + "/share"
	res, err := s.web.PostForm(made, url.Values{"role": {"viewer"}, "expires": {"24h"}, "uses": {"1"}})
	page := s.body(made, res, err, http.StatusOK)
	for _, want := range []string{"/j#", "QR code", "0 of 1 joined"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a new link misses %q", want)
		}
	}
	res, err = s.web.PostForm(made, url.Values{"role": {"viewer"}, "expires": {"24h"}, "uses": {"7"}})
	s.body(made, res, err, http.StatusBadRequest)

	page = s.get("/people")
	for _, want := range []string{"Firefox on Linux", "this browser", "Safari on iPhone", "Ben", "Unknown browser",
		"Sign out everywhere else", "0 of 1 joined"} {
		if !strings.Contains(page, want) {
			t.Errorf("/people misses %q", want)
		}
	}
	s.post("/people/browsers/k3", nil)
	s.post("/people/signout", nil)
	if page = s.get("/people"); strings.Contains(page, "Ben") || strings.Contains(page, "iPhone") ||
		strings.Contains(page, "everywhere else") {
		t.Error("who was signed out is still listed")
	}
	s.post("/people/links/"+links.List("")[0].ID+"/revoke", nil)
	if page = s.get("/people"); !strings.Contains(page, "Revoked") || links.List("")[0].Revoked.IsZero() {
		t.Error("the link goes on")
	}
	res, err = s.web.PostForm(s.url+"/people/links/nothing/revoke", nil)
	s.body("an unknown link", res, err, http.StatusNotFound)
}

// The page describes outcomes other than success, and the export names them.
func TestAuditShowsOutcomes(t *testing.T) {
	s := open(t)
	s.pages.People.Audit = events{{What: "wrote a file", Outcome: audit.Unknown},
		{What: "moved a file", Outcome: audit.Failed}, {What: "joined"}}
	shown := s.get("/audit")
	for _, want := range []string{"Outcome unknown. ahphub stopped before this finished",
		"Failed. Part of it may have happened"} {
		if strings.Count(shown, want) != 1 {
			t.Errorf("/audit does not show %q once", want)
		}
	}
	if raw := s.get("/audit.jsonl"); strings.Count(raw, `"outcome":"unknown"`) != 1 ||
		strings.Count(raw, `"outcome"`) != 2 {
		t.Errorf("the export is\n%s", raw)
	}
}

func TestAuditPage(t *testing.T) {
	s := open(t)
	var all events
	for i := range 250 {
		all = append(all, audit.Entry{At: time.Unix(int64(i), 0), Who: "owner", Name: "Ana", What: "signed in",
			From: "192.0.2.1"})
	}
	all = append(all, audit.Entry{At: time.Unix(1e9, 0), Who: "guest:1", Name: "<b>Ben</b>", What: "joined",
		On: "link-1"})
	s.pages.People.Audit = all

	page := s.get("/audit")
	if !strings.Contains(page, "&lt;b&gt;Ben") || !strings.Contains(page, "Show older entries") ||
		strings.Count(page, "<time") != 200 {
		t.Errorf("/audit shows %d events", strings.Count(page, "<time"))
	}
	if !strings.Contains(page, `href="/audit?before=51&amp;q=&amp;what="`) {
		t.Error("nothing leads to the older events")
	}
	if strings.Contains(page, "Show newest entries") {
		t.Error("the newest events lead to themselves")
	}
	page = s.get("/audit?before=51&what=&q=")
	if strings.Count(page, "<time") != 51 || strings.Contains(page, "Show older entries") {
		t.Errorf("the second page shows %d events", strings.Count(page, "<time"))
	}
	if !strings.Contains(page, `href="/audit?q=&amp;what=">Show newest entries`) {
		t.Error("nothing leads back to the newest events")
	}
	if page = s.get("/audit?what=joined&q=BEN"); strings.Count(page, "<time") != 1 {
		t.Errorf("the filter leaves %d events", strings.Count(page, "<time"))
	}
	if res, err := s.web.Get(s.url + "/audit?before=nonsense"); err != nil || res.StatusCode != http.StatusBadRequest {
		t.Errorf("a place that is none is answered by %v, %v", res, err)
	} else {
		res.Body.Close()
	}
	if page = s.get("/audit?q=nobody"); !strings.Contains(page, "No matching events") {
		t.Error("an empty result is not said")
	}
	lines := strings.Split(strings.TrimSpace(s.get("/audit.jsonl?what=signed+in")), "\n")
	var first audit.Entry
	if len(lines) != 250 || json.Unmarshal([]byte(lines[0]), &first) != nil || first.Who != "owner" {
		t.Errorf("%d lines were exported, the first is %s", len(lines), lines[0])
	}
}
