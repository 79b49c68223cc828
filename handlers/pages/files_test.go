package pages_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// A client's request for files is shown in the inbox, live, and answered there by a form.
func TestFilesAreGrantedInTheInbox(t *testing.T) {
	s := open(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "<b>\u202etxt.notes")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := s.tab("/")
	c := core.Caller{Principal: access.Principal{ID: "person:ben", Name: "Ben", Role: access.RoleMember},
		ClientID: "editor"}
	told := make(chan error, 1)
	ask := func(write bool) {
		go func() {
			_, err := s.host.Files.ResourceRequest(t.Context(), c, ahp.ResourceRequestParams{URI: core.FileURI(path),
				Write: &write})
			told <- err
		}()
	}
	ask(true)
	b.wait("inbox", "Needs you")
	if got := attr(b.id("inbox"), "data-needs"); got != "1" {
		t.Errorf("the inbox counts %q", got)
	}
	b.wait("rail-list", "Needs you")
	if got := attr(b.id("rail-list"), "data-needs"); got != "1" {
		t.Errorf("the rail counts %q", got)
	}
	page := s.get("/")
	for _, want := range []string{"editor", "read and write", "&lt;b&gt;", `data-u="U+202E"`, "Allow until restart",
		`href="/#files-`} {
		if !strings.Contains(page, want) {
			t.Errorf("the inbox does not say %q", want)
		}
	}
	s.who = c.Principal
	if page := s.get("/"); strings.Contains(page, "editor") {
		t.Error("another than the owner is shown what is asked")
	}
	form := "/files/" + s.host.Files.FileAsks()[0].ID
	res, err := s.web.PostForm(s.url+form, url.Values{"do": {"allow"}})
	s.body(form, res, err, http.StatusForbidden)
	s.who = ana
	res, err = s.web.PostForm(s.url+form, url.Values{"do": {"maybe"}})
	s.body(form, res, err, http.StatusBadRequest)
	if to := s.post(form, url.Values{"do": {"allow"}}); to != "/" {
		t.Errorf("the form leads to %q", to)
	}
	if err := <-told; err != nil {
		t.Error(err)
	}
	b.wait("inbox", "No sessions yet")
	res, err = s.web.PostForm(s.url+form, url.Values{"do": {"allow"}})
	s.body(form, res, err, http.StatusNotFound)

	revoke := "/people/files/" + s.host.Files.FileGrants()[0].ID + "/revoke"
	s.post(revoke, nil)
	res, err = s.web.PostForm(s.url+revoke, nil)
	s.body(revoke, res, err, http.StatusNotFound)
	ask(false)
	b.wait("inbox", "asks to")
	s.post("/files/"+s.host.Files.FileAsks()[0].ID, url.Values{"do": {"deny"}})
	if err := <-told; err == nil {
		t.Error("what was denied was given")
	}
}
