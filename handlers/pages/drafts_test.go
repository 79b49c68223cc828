package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Requests overtake each other: a save that arrives after a newer one, or after the end of its draft, is ignored.
func TestLateSaveDoesNotBringADraftBack(t *testing.T) {
	s := open(t)
	base, _, file := s.reviewed("one\ntwo\nthree\n")
	drafts := base + "/changes/drafts"
	say := func(id, do, n, text string) {
		t.Helper()
		s.post(drafts, url.Values{"q": {"scope=session"}, "do": {do}, "draft": {id}, "page": {"p"}, "n": {n},
			"file": {file}, "at": {"R2"}, "text": {text}})
	}
	shows := func(id, text string) {
		t.Helper()
		page := s.get(base + "/changes?scope=session")
		if _, form, found := strings.Cut(page, `id="draft-`+id+`"`); found != (text != "") || found &&
			!strings.Contains(form, ">"+text+"</textarea>") {
			t.Errorf("the draft %s is there: %v, and should read %q", id, found, text)
		}
	}
	say("d1", "save", "2", "the newer text")
	say("d1", "save", "1", "the older text")
	shows("d1", "the newer text")
	say("d1", "discard", "3", "")
	say("d1", "save", "4", "a ghost")
	shows("d1", "")

	say("d2", "discard", "6", "") // arrives before the save that it follows
	say("d2", "save", "5", "a ghost")
	shows("d2", "")

	say("d3", "save", "7", "worth saying")
	say("d3", "comment", "9", "worth saying")
	say("d3", "save", "8", "worth saying")
	shows("d3", "")
	if page := s.get(base + "/threads"); strings.Count(page, "worth saying") == 0 {
		t.Error("the comment was not published")
	}
	s.refuses(drafts, url.Values{"q": {"scope=session"}, "do": {"save"}, "draft": {"a/b"}, "file": {file}, "at": {"R2"},
		"text": {"x"}}, http.StatusBadRequest, "Draft not found")
}

// A draft that ends while it is saved leaves nothing behind.
func TestDraftEndsWhileItIsSaved(t *testing.T) {
	s := open(t)
	base, _, file := s.reviewed("one\ntwo\n")
	var all sync.WaitGroup
	for _, do := range []string{"save", "discard", "save", "save"} {
		all.Go(func() {
			form := url.Values{"q": {"scope=session"}, "do": {do}, "draft": {"d"}, "page": {"p"}, "n": {"1"},
				"file": {file}, "at": {"R1"}, "text": {"a ghost"}}
			if res, err := s.web.PostForm(s.url+base+"/changes/drafts", form); err == nil {
				_ = res.Body.Close()
			}
		})
	}
	all.Wait()
	if page := s.get(base + "/changes?scope=session"); strings.Contains(page, "a ghost") {
		t.Error("the draft is there again")
	}
}
