package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A deleted session can be restored, with its turns.
func TestADeletedSessionIsRestored(t *testing.T) {
	s := open(t)
	if empty := s.get("/deleted"); !strings.Contains(empty, "No deleted sessions") {
		t.Errorf("without a deleted session the page shows\n%s", empty)
	}
	base, chat := s.session()
	s.say(chat, "say remember me")
	s.until(base, "remember me")
	if strings.Contains(s.get("/"), "Deleted sessions") {
		t.Error("the inbox leads to deleted sessions, and there is none")
	}

	res, err := s.web.PostForm(s.url+base+"/delete", url.Values{})
	s.body(base, res, err, http.StatusBadRequest) // without the confirmation
	if to := s.post(base+"/delete", url.Values{"delete": {"yes"}}); to != "/deleted" {
		t.Fatalf("deleting leads to %s", to)
	}
	res, err = s.web.Get(s.url + base)
	s.body(base, res, err, http.StatusNotFound)
	s.shows("/", "Deleted sessions (1)")
	again := "/deleted/" + strings.TrimPrefix(base, "/s/")
	s.shows("/deleted", `action="`+again+`"`, "Deleted now")

	if to := s.post(again, nil); to != base {
		t.Fatalf("restoring leads to %s", to)
	}
	s.shows(base, "remember me")
	if strings.Contains(s.get("/"), "Deleted sessions") {
		t.Error("the inbox leads to deleted sessions still")
	}
	res, err = s.web.PostForm(s.url+again, url.Values{})
	if body := s.body(again, res, err, http.StatusNotFound); !strings.Contains(body, "already restored") {
		t.Errorf("restoring twice: %s", body)
	}
}
