package page

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"github.com/ahphub/ahphub/e2e/hostile"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/templ/part"
)

// loads are attributes that make a browser load something automatically.
var loads = map[string]bool{"src": true, "srcset": true, "poster": true, "background": true, "data": true, "ping": true,
	"srcdoc": true, "style": true, "xlink:href": true, "manifest": true, "archive": true, "codebase": true,
	"cite": true, "longdesc": true, "dynsrc": true, "lowsrc": true}

var never = map[string]bool{"base": true, "object": true, "embed": true, "applet": true, "frame": true, "style": true,
	"foreignobject": true, "animate": true, "set": true, "math": true, "marquee": true, "video": true, "audio": true,
	"source": true, "track": true, "portal": true, "xmp": true, "plaintext": true}

// dangers finds elements that run or load code. The page's own scripts and style sheets come from the asset
// function of the test.
func dangers(doc *html.Node) (found []string) {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if never[n.Data] {
			found = append(found, "<"+n.Data+">")
		}
		for _, a := range n.Attr {
			own := strings.HasPrefix(a.Val, "/assets/")
			switch key := strings.ToLower(a.Key); {
			case strings.HasPrefix(key, "on"):
				found = append(found, n.Data+" "+key)
			case key == "src" && own, key == "src" && n.Data == "iframe" && strings.HasPrefix(a.Val, "/s/"):
			case loads[key]:
				found = append(found, fmt.Sprintf("%s %s=%.80s", n.Data, key, a.Val))
			case key == "href" || key == "action" || key == "formaction":
				if bad := foreign(n.Data, a.Val, own); bad != "" {
					found = append(found, fmt.Sprintf("%s %s=%.80s", n.Data, key, a.Val))
				}
			case key == "http-equiv", key == "content" && strings.Contains(strings.ToLower(a.Val), "url="):
				found = append(found, "a meta that goes elsewhere")
			}
		}
		if n.Data == "script" && (n.FirstChild != nil || len(n.Attr) == 0) {
			found = append(found, "an inline script")
		}
	}
	return found
}

// foreign reports whether an address runs code or loads from elsewhere. Links may only lead to
// http.
func foreign(element, address string, own bool) string {
	if strings.HasPrefix(address, "#") {
		return ""
	}
	if rest, ok := strings.CutPrefix(address, "/"); ok && !strings.HasPrefix(rest, "/") &&
		!strings.HasPrefix(rest, `\`) {
		path, _, _ := strings.Cut(rest, "?")
		if strings.Contains(path, "/../") && element != "a" {
			return "a form that climbs"
		}
		return ""
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "unreadable"
	}
	switch {
	case u.Scheme == "about" && u.Opaque == "invalid":
	case u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto":
		return "scheme " + u.Scheme
	case element == "link" && !own, element == "form" && (u.Host != "" || u.Scheme != ""):
		return "elsewhere"
	}
	return ""
}

func hostileParts(p string) map[string]templ.Component {
	md := ahp.Markdown(p)
	frame := part.Frame{Title: p, Path: p, Theme: p, Asset: func(n string) string { return "/assets/0/" + n }, Tab: p,
		Live: p, Body: p, Viewer: part.Viewer{Name: p, Owner: true},
		Rail: []part.RailItem{{Short: p, Title: p, Group: p, Age: p}},
		Session: &part.SessionHead{Short: "ab", Title: p, Activity: p, Branch: p, Files: 1,
			People: []part.Person{{ID: p, Name: "A" + p, Follows: p, FollowsName: p, Place: part.Spot{Page: p, In: p,
				Of: p, Href: "/s/ab/" + p, File: p, Path: p, Line: p, Top: p, Typing: p}}}}}
	turn := part.Turn{ID: p, Base: "/s/ab/c/cd", StartedAt: p, Dir: p, Message: ahp.Message{Text: p},
		Parts: []ahp.ResponsePart{
			{Value: &ahp.MarkdownResponsePart{ID: p, Content: ahp.NewText(p)}},
			{Value: &ahp.ReasoningResponsePart{ID: p, Content: ahp.NewText(p)}},
			{Value: &ahp.SystemNotificationResponsePart{Content: md}},
			{Value: &ahp.InputRequestResponsePart{Request: ahp.ChatInputRequest{ID: p, Message: p, URL: p,
				Questions: []ahp.ChatInputQuestion{{Value: &ahp.ChatInputTextQuestion{ID: p, Title: p, Message: p,
					DefaultValue: p}}}}}},
		}}
	tool := part.Tool{Invocation: md}
	tool.ToolCallID, tool.DisplayName = p, p
	d := diff.Compute([]byte(p+"\n"), []byte("x"+p+"\n"), diff.Options{Path: p})
	file := &part.DiffFile{ID: p, Base: "/s/ab/changes", Query: p, Path: p, OldPath: p, Diff: d, Tag: p, ReviewedBy: p,
		OldMode: p, Note: p, Fold: p, Threads: []part.Thread{{ID: p, Base: "/s/ab", Path: p, Quote: p,
			Entries: []part.Entry{{ID: p, By: p, ByID: p, Text: p}}}}}
	plain := frame
	plain.Session = nil
	return map[string]templ.Component{
		"markdown": templ.Raw(part.Markdown(p)), "code": templ.Raw(part.CodeBlock(p, p)), "shown": part.Shown(p),
		"turn": part.TurnPart(turn), "tool": part.ToolPart(turn, tool), "approval": part.ApprovalCard(turn, tool),
		"diff": part.DiffBox(file, part.DiffView{Links: true}), "rows": part.DiffRows(file, part.DiffView{Split: true}),
		"tree":   part.DiffTreeName(file),
		"thread": part.ThreadBox(&file.Threads[0]),
		"error":  ErrorPage(Error{Frame: plain, Status: 404, Text: p, ID: p}),
		"chat": ChatPage(Chat{Frame: frame, Base: "/s/ab/c/cd", Session: *frame.Session, Turns: []part.Turn{turn},
			Chats: []ChatLink{{Href: "/s/ab", Title: p}},
			Info: Info{Agent: p, Dirs: []string{p}, Config: []ConfigValue{{p, p}},
				Files: []FileLine{{Path: p, Href: "/s"}}}}),
		"inbox": InboxPage(Inbox{Frame: plain, Filter: p,
			List: InboxList{Groups: []InboxGroup{{Name: p, Items: []InboxItem{{Short: "ab", Title: p, Agent: p, Dir: p,
				Activity: p}}}}}}),
		"share": SharePage(frame, &Share{Base: "/s/ab", New: p, Address: p, Error: p,
			Links: []ShareLink{{ID: "l", Label: p, In: p, Href: "/s", People: []SharePerson{{Name: "A" + p}}}}}),
		"people": PeoplePage(People{Frame: plain, Browsers: []Browser{{Key: "k", Name: p, Agent: p}}}),
		"audit": AuditPage(Audit{Frame: plain, What: p, Query: p, Kinds: []string{p},
			Events: []AuditEvent{{Who: p, Name: p, What: p, On: p, From: p, Outcome: p, Mark: p}}}),
		"terminals": TerminalsPage(Terminals{Frame: frame, Session: *frame.Session,
			List: []TerminalLine{{Title: p, Holder: p, Href: "/s/ab/t/1"}}, Dirs: []string{p},
			Shown: []Terminal{{ID: "1", Title: p, Cwd: p, Held: HeldByPerson, Holder: p, Text: p, Running: true,
				Frame: "/s/ab/t/1/frame", Asks: []TerminalAsk{{Client: p, Name: p}},
				Commands: []TerminalCommand{{ID: p, Line: p}}}}}),
		"frame": TerminalFramePage(TerminalFrame{Asset: frame.Asset, Theme: p, Title: p, Stream: p, Text: p}),
		"join":  JoinPage(Join{Frame: plain, Token: p, Name: p, Error: p, To: p}),
		"account": AccountPage(Account{Frame: plain, Password: true, CanPasskey: true, Error: p, TokenError: p, New: p,
			Passkeys: []Passkey{{Key: "k", Name: p, Host: p}}, Tokens: []APIToken{{ID: "t", Name: p}}}),
		"notifications": NotificationsPage(Notifications{Frame: plain, Channels: []string{"browser"},
			Kinds: []NotifyKind{{Kind: "approval"}}, Account: true, Owner: true, CanMail: true,
			MailError: p, HookError: p, HookURL: p, Secret: p, Mail: NotifyMail{Address: p, Verified: true, Typed: p,
				At: p, Zone: p, Last: &NotifyResult{Text: p}},
			Hooks: []NotifyHook{{ID: "h", Where: p, Last: &NotifyResult{Text: p}}, {ID: "g", Where: p, Gone: p}},
			Muted: []NotifyMuted{{Short: "ab", Title: p}}}),
		"unsubscribe": UnsubscribePage(Unsubscribe{Frame: plain, Action: "/unsubscribe", Address: p}),
		"signin":      SignInPage(SignIn{Frame: plain, Next: p, Error: p}),
	}
}

// Text by agents, repositories or guests stays text: no script, no handler, nothing that loads automatically.
func TestHostileTextIsHarmlessEverywhere(t *testing.T) {
	all := hostile.Payloads()
	if len(all) < 300 {
		t.Fatalf("%d payloads, at least 300 were promised", len(all))
	}
	wrapped, texts := map[string]bool{}, map[string]bool{"markdown": true, "code": true, "shown": true, "turn": true,
		"approval": true, "thread": true, "rows": true}
	for _, p := range all { // pages render the same parts, so the bare payloads are enough for them
		wrapped[p] = !slices.Contains(hostile.Scripts, p) && !slices.Contains(hostile.Markups, p)
	}
	for _, p := range all[len(all)-8:] {
		wrapped[p] = false
	}
	drawn := 0
	for _, p := range all {
		for name, c := range hostileParts(p) {
			if wrapped[p] && !texts[name] {
				continue
			}
			var b strings.Builder
			if err := c.Render(context.Background(), &b); err != nil {
				t.Fatalf("%s with %q: %v", name, p, err)
			}
			doc, err := html.Parse(strings.NewReader(b.String()))
			if err != nil {
				t.Fatalf("%s with %q: %v", name, p, err)
			}
			drawn++
			if found := dangers(doc); len(found) > 0 {
				t.Errorf("%s with %.100q has %s", name, p, strings.Join(found, ", "))
			}
		}
	}
	t.Logf("%d payloads in %d documents", len(all), drawn)
}

// dangers detects what it should.
func TestDangersAreSeen(t *testing.T) {
	for _, m := range []string{`<script>alert(1)</script>`, `<img src=x>`, `<p onclick=x>`, `<a href="javascript:x">`,
		`<form action="https://evil.example/">`, `<link href="https://evil.example/">`, `<iframe srcdoc=x></iframe>`,
		`<p style="x">`, `<base href="/">`, `<meta http-equiv=refresh>`} {
		doc, _ := html.Parse(strings.NewReader(m))
		if len(dangers(doc)) == 0 {
			t.Errorf("%s passes", m)
		}
	}
}
