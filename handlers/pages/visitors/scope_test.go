package visitors

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/presence"
)

// one sees one channel.
type one struct {
	hub.Audience
	uri ahp.URI
}

func (o one) Sees(ch hub.ChannelInfo) bool { return ch.URI == o.uri }

// A guest of one chat sees who is in the session, but no places outside of the chat.
func TestPlacesOutsideOfTheScope(t *testing.T) {
	const uri = "ahp-session:/1"
	ana := access.Owner("Ana")
	ben := access.Principal{ID: "guest:ben", Name: "Ben", Role: access.RoleViewer, Link: "l"}
	p := New(&site.Site{Hub: hub.New(hub.Config{}), Presence: presence.New(presence.Config{})}, nil, nil)
	defer p.Presence.Close()
	p.Presence.Join(ana, uri, presence.Place{Page: "changes", In: "secret", Channel: "ahp-changeset:/x/secret",
		Kind: ahp.ChannelChangeset, Href: "/secret", File: "secret", Path: "secret.go", Line: "R1", Top: "secret",
		Typing: "reply:secret"})
	p.Presence.Join(ben, uri, presence.Place{Page: "chat", In: "shared", Channel: "ahp-chat:/shared",
		Kind: ahp.ChannelChat, Typing: "message"})
	list := p.company(uri, one{access.Owner("").Audience(), "ahp-chat:/shared"})
	if len(list) != 2 || list[0].Place.Where() != "Elsewhere in this session" || list[1].Place.Typing != "message" {
		t.Fatalf("they see %+v", list)
	}
	r := &peopleRoom{list: list}
	if html := r.Whole(nil)[0].HTML; strings.Contains(html, "secret") ||
		!strings.Contains(html, "Elsewhere in this session") {
		t.Errorf("they are sent\n%s", html)
	}
	all := p.company(uri, access.Owner("").Audience())
	if all[0].Place.Where() != "secret.go, line 1" {
		t.Errorf("the owner sees %+v", all)
	}
}
