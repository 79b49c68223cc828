package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/access"
)

// A link is for the whole session unless a part is chosen; a missing or deleted part is refused, and stays selected.
func TestWhatALinkIsFor(t *testing.T) {
	s := open(t)
	links, err := access.OpenLinks(t.Context(), linkStore{})
	if err != nil {
		t.Fatal(err)
	}
	s.pages.Links = links
	base, chat := s.session()
	id := chat[strings.LastIndexByte(chat, '/')+1:]
	checked := func(page, value string) bool {
		_, field, _ := strings.Cut(page, `name="part" value="`+value+`"`)
		return strings.HasPrefix(field, " checked")
	}
	if page := s.get(base + "/share?part=changes:session"); !checked(page, "") ||
		strings.Contains(page, `value="changes:session" checked`) {
		t.Errorf("who comes from a part does not begin with the whole session:\n%s", page)
	}
	for name, test := range map[string]struct {
		part, other string
		status      int
		scope       string
	}{
		"the whole session":       {"", "chat:" + id, 200, ""},
		"one chat":                {"chat:" + id, "", 200, chat},
		"one of the others":       {"other", "chat:" + id, 200, chat},
		"others, and none chosen": {"other", "", 400, ""},
		"a chat that is gone":     {"chat:gone", "", 400, ""},
		"a chat gone from others": {"other", "chat:gone", 400, ""},
		"no part at all":          {"everything", "", 400, ""},
	} {
		before := len(links.List(""))
		res, err := s.web.PostForm(s.url+base+"/share", url.Values{"role": {"viewer"}, "expires": {"24h"},
			"part": {test.part}, "other": {test.other}})
		page := s.body(name, res, err, test.status)
		all := links.List("")
		switch {
		case test.status != http.StatusOK:
			if len(all) != before || checked(page, "") {
				t.Errorf("%s: %d links were made, and the form offers the whole session next: %t", name,
					len(all)-before, checked(page, ""))
			}
		case len(all) != before+1 || all[0].Scope.IsWhole() != (test.scope == ""):
			t.Errorf("%s: the links are %+v", name, all)
		}
	}
}
