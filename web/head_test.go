package web

import (
	"testing"
)

// HEAD is answered wherever GET is, by the same rights, without a body and without keeping streams open.
func TestHeadIsAnsweredLikeGet(t *testing.T) {
	x := newSite(t, nil)
	cookie := x.owner()
	for _, path := range []string{"/", "/healthz", "/signin", "/s/mine", "/undecided", "/nowhere", "/assets/a.js"} {
		get, head := x.ask("GET "+path, cookie), x.ask("HEAD "+path, cookie)
		if get.StatusCode != head.StatusCode {
			t.Errorf("%s: HEAD is answered %s, GET %s", path, head.Status, get.Status)
		}
		if body := text(t, head); body != "" {
			t.Errorf("%s: HEAD has the body %q", path, body)
		}
	}
	if res := x.ask("HEAD /s/mine"); res.StatusCode != 401 {
		t.Errorf("HEAD without a cookie is answered %s", res.Status)
	}
	if res := x.ask("HEAD /account/password", cookie); res.StatusCode != 405 {
		t.Errorf("HEAD of a form is answered %s", res.Status)
	}
	res := x.ask("HEAD /live", cookie)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD of a stream is answered %s", res.Status)
	}
	<-x.pages.ended
}
