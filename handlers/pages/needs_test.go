package pages_test

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
)

func member(id, name string) access.Principal {
	return access.Principal{ID: "person:" + id, Name: name, Role: access.RoleDriver, Host: true, Prompt: true,
		Approve: true}
}

// A session needs only members who may answer it: for others it waits, uncounted and without a card.
func TestWhomASessionNeeds(t *testing.T) {
	s := open(t)
	ben, cleo, viewer := member("ben", "Ben"), member("cleo", "Cleo"), access.Principal{ID: "person:dan", Name: "Dan",
		Role: access.RoleViewer, Host: true}
	cleo.Guests = true
	base, chat := s.session()
	for _, test := range []struct {
		by    access.Principal
		needs map[string]bool
		head  string // rendered once for all of them
	}{
		{ana, map[string]bool{"Ana": true, "Ben": true, "Cleo": true, "Dan": false},
			`class="answer-only by-approve by-guests"`},
		{ben, map[string]bool{"Ana": true, "Ben": false, "Cleo": true, "Dan": false}, `class="answer-only by-guests"`},
	} {
		s.who = test.by
		s.say(chat, "run echo hi")
		s.until(base, test.head)
		for _, who := range []access.Principal{ana, ben, cleo, viewer} {
			s.who = who
			b := s.tab("/") // its marks verify the stream
			inbox, rail := b.text("inbox"), b.text("rail-list")
			want, count := "Waiting", "0"
			if test.needs[who.Name] {
				want, count = "Needs you", "1"
			}
			if !strings.Contains(inbox, want) || !strings.Contains(rail, want) ||
				attr(b.id("inbox"), "data-needs") != count || attr(b.id("rail-list"), "data-needs") != count {
				t.Errorf("asked by %s, %s's inbox says %q, their rail %q", test.by.Name, who.Name, inbox, rail)
			}
			if strings.Contains(b.html("inbox"), `class="approval`) != test.needs[who.Name] {
				t.Errorf("asked by %s, %s is shown the card: %t", test.by.Name, who.Name, !test.needs[who.Name])
			}
		}
		s.who = ana
		s.post(chat+"/stop", nil)
		s.until(base, "Stopped")
	}
}

// Members whose rights differ have separate live lists.
func TestListsOfMembersAreTheirOwn(t *testing.T) {
	s := open(t)
	_, chat := s.session()
	ben, cleo := member("ben", "Ben"), member("cleo", "Cleo")
	cleo.Guests = true
	tabs := map[string]*tab{}
	for _, who := range []access.Principal{ben, cleo} {
		s.who = who
		tabs[who.Name] = s.tab("/")
	}
	s.who = ben
	s.say(chat, "run echo hi")
	tabs["Cleo"].wait("inbox", "Needs you")
	tabs["Ben"].wait("inbox", "Waiting")
	if inbox, dan := site.PersonAndRights, member("dan", "Dan"); inbox(ben) == inbox(dan) ||
		site.AnswerRights(ben) != site.AnswerRights(dan) {
		t.Error("two members share an inbox, which says who of them is mentioned, or have a rail each though they " +
			"may answer the same")
	}
}
