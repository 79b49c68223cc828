package access

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

const scopesFile = "testdata/scopes.txt"

// Channels of a session, for links to a part of it.
var (
	itsTerminal = hub.ChannelInfo{URI: "ahp-terminal:/1", Kind: ahp.ChannelTerminal, Session: mine, Chat: myChat.URI}
	itsTurn     = hub.ChannelInfo{URI: "ahp-changeset:/mine/turn/1", Kind: ahp.ChannelChangeset, Session: mine,
		Chat: myChat.URI}
	secondChat   = hub.ChannelInfo{URI: "ahp-chat:/b", Kind: ahp.ChannelChat, Session: mine}
	itsTerminal2 = hub.ChannelInfo{URI: "ahp-terminal:/b", Kind: ahp.ChannelTerminal, Session: mine,
		Chat: secondChat.URI}
	itsTurn2 = hub.ChannelInfo{URI: "ahp-changeset:/mine/turn/b", Kind: ahp.ChannelChangeset, Session: mine,
		Chat: secondChat.URI}
	looseTerminal = hub.ChannelInfo{URI: "ahp-terminal:/s", Kind: ahp.ChannelTerminal, Session: mine}
	allChanges    = hub.ChannelInfo{URI: "ahp-changeset:/mine/session", Kind: ahp.ChannelChangeset, Session: mine}
	theSession    = hub.ChannelInfo{URI: mine, Kind: ahp.ChannelSession, Session: mine}
	theThreads    = hub.ChannelInfo{URI: mine + "/annotations", Kind: ahp.ChannelAnnotations, Session: mine}
	telemetry     = hub.ChannelInfo{URI: "ahp-otlp:/logs", Kind: ahp.ChannelOtlp}
)

var everything = []struct {
	name string
	ch   hub.ChannelInfo
}{{"chat", myChat}, {"its-terminal", itsTerminal}, {"its-turn", itsTurn}, {"changes", allChanges},
	{"threads", theThreads}, {"session", theSession},
	{"chat-2", secondChat}, {"terminal-2", itsTerminal2}, {"turn-2", itsTurn2}, {"terminal", looseTerminal},
	{"root", root}, {"other", other}, {"otlp", telemetry}}

// ofChat and ofChanges are the principals with the most rights that see only a part of a session.
func ofChat() Principal {
	p := guest(RoleDriver)
	p.Prompt, p.Approve, p.Type, p.Guests = true, true, true, true
	p.Scope = Scope{Kind: ahp.ChannelChat, URI: myChat.URI}
	return p
}

func ofChanges() Principal {
	p := guest(RoleCommenter)
	p.Scope = Scope{Kind: ahp.ChannelChangeset, URI: allChanges.URI}
	return p
}

// scopesMatrix evaluates every request on every part of a session for a principal who sees one chat
// ("c") and one who sees one changeset ("v"); "." is refused to both.
func scopesMatrix() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%-12s %-52s", "#", "")
	for _, e := range everything {
		fmt.Fprintf(&out, " %s", e.name)
	}
	out.WriteByte('\n')
	line := func(kind, what string, may func(p Principal, ch hub.ChannelInfo) bool) {
		fmt.Fprintf(&out, "%-12s %-52s", kind, what)
		for _, e := range everything {
			mark := ""
			if may(ofChat(), e.ch) {
				mark = "c"
			}
			if may(ofChanges(), e.ch) {
				mark += "v"
			}
			fmt.Fprintf(&out, " %*s", len(e.name), cmp.Or(mark, "."))
		}
		out.WriteByte('\n')
	}
	line("sees", "", func(p Principal, ch hub.ChannelInfo) bool { return p.Audience().Sees(ch) })
	for _, a := range sorted(actionRights) {
		line("action", a, func(p Principal, ch hub.ChannelInfo) bool { return MayAct(p, a, ch) == nil })
	}
	for _, m := range sorted(methodRights) {
		line("method", m, func(p Principal, ch hub.ChannelInfo) bool { return MayCall(p, m, ch) == nil })
	}
	part := func(may func(Principal) bool) string {
		mark := ""
		for _, who := range []struct {
			mark string
			p    Principal
		}{{"c", ofChat()}, {"v", ofChanges()}} {
			if may(who.p) {
				mark += who.mark
			}
		}
		return cmp.Or(mark, ".")
	}
	for _, r := range sorted(routeRights) {
		fmt.Fprintf(&out, "%-12s %-52s %s\n", "route", r, part(func(p Principal) bool { return MayVisit(p, r) == nil }))
	}
	for _, r := range Rooms() {
		fmt.Fprintf(&out, "%-12s %-52s %s\n", "room", r, part(func(p Principal) bool { return MayFollow(p, r) == nil }))
	}
	return out.String()
}

func TestScopesMatrix(t *testing.T) { compareWith(t, scopesFile, scopesMatrix()) }

// These rules hold whatever the file says: principals reach nothing outside of their part, and
// change nothing of the session as a whole.
func TestGuestsCannotLeaveTheirPart(t *testing.T) {
	inside := map[string]string{"chat": "c", "its-terminal": "c", "its-turn": "c", "changes": "v", "threads": "cv",
		"session": "cv", "root": "cv"}
	for _, l := range strings.Split(scopesMatrix(), "\n")[1:] {
		f := strings.Fields(l)
		if len(f) < len(everything) {
			continue
		}
		for i, mark := range f[len(f)-len(everything):] {
			what := everything[i].name
			for _, who := range strings.Trim(mark, ".") {
				if !strings.ContainsRune(inside[what], who) {
					t.Errorf("%s is reached by %c: %s", what, who, l)
				}
			}
			writes := f[0] == "action" || f[0] == "method" && methodRights[f[1]].need != RightRead
			if writes && mark != "." && (what == "session" || what == "root") {
				t.Errorf("all of the %s is written from a part: %s", what, l)
			}
		}
	}
}

// Every row of the tables for parts is a row of the general tables.
func TestScopeRowsExistInTables(t *testing.T) {
	for r := range routeScopes {
		if _, ok := routeRights[r]; !ok {
			t.Errorf("routeScopes has %s, which is no route", r)
		}
	}
}
