package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/ahphub/ahphub/e2e/hostile"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/review"
)

// forMail are texts of an attacker who targets mail and its display.
var forMail = []string{
	"x\r\nBcc: everybody@evil.example", "x\nContent-Type: text/html\n\n<b>x", "\r\n.\r\nMAIL FROM:<a@evil.example>",
	"=?utf-8?q?x=0ABcc:_a@evil.example?=", "x\u2028Bcc: y\u2029",
	"\u202egpj.exe", "a\u2066b\u2069", "\u200b\u200b", "\u3164\u115f", "\u2800", "\x00\x1b[2J", "-- \nsignature",
	"From nobody", "\U000e0041\U000e0042", strings.Repeat("long ", 5000),
}

// everywhere puts a text everywhere that an agent, a client or a person can put one that is sent.
func (w *world) everywhere(i int, p string) {
	w.t.Helper()
	id := fmt.Sprintf("%s%d", p, i)
	call := &ahp.ToolCallPendingConfirmationState{ToolCallBase: ahp.ToolCallBase{ToolCallID: p, DisplayName: p},
		ToolCallParameterFields: ahp.ToolCallParameterFields{InvocationMessage: ahp.Plain(p)}}
	by, _ := json.Marshal(stampedBy{"guest:eve", p, time.Now()})
	thread := ahp.Annotation{ID: id, Resource: p,
		Entries: []ahp.AnnotationEntry{{ID: "e", Text: ahp.Plain(p), Meta: ahp.Meta{"by": by}}}}
	w.do(func(tx *hub.Tx) {
		tx.Apply(session, &ahp.SessionTitleChangedAction{Title: p})
		tx.Apply(session, &ahp.SessionInputNeededSetAction{
			Request: ahp.SessionInputRequest{Value: &ahp.SessionToolConfirmationRequest{ID: id, Chat: chat, TurnID: id,
				ToolCall: ahp.ToolCallConfirmationState{Value: call}}}})
		tx.Apply(session, &ahp.SessionInputNeededSetAction{
			Request: ahp.SessionInputRequest{Value: &ahp.SessionChatInputRequest{ID: "q" + id, Chat: chat,
				Request: ahp.ChatInputRequest{ID: p, Message: p}}}})
		tx.Apply(chat, &ahp.ChatTurnStartedAction{TurnID: id})
		tx.Apply(chat, &ahp.ChatErrorAction{TurnID: id, Part: ahp.ErrorResponsePart{Error: ahp.ErrorInfo{Message: p}}})
		tx.Apply(annotations, &ahp.AnnotationsSetAction{Annotation: thread})
		tx.Apply(annotations, &ahp.AnnotationsRemovedAction{AnnotationID: id})
		for _, id := range []string{id, "q" + id} {
			tx.Apply(session, &ahp.SessionInputNeededRemovedAction{ID: id})
		}
		w.n.Judged(tx, session, review.Given{Verdict: review.Verdict{By: review.Person{ID: "guest:eve", Name: p},
			Kind: review.Comment, Summary: p, At: time.Now().Add(time.Duration(i))}})
	})
	synctest.Wait()
}

// Texts of agents, clients and people are sent as text: in a browser's notification and a webhook
// as one plain line, and in a mail they add no header, tag, line or address.
func TestHostileTextIsSentAsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newMemory())
		stream, _ := w.n.Follow("")
		defer stream.Close()
		prefs := &Prefs{Mail: Mailbox{Address: "ana@example.com", Verified: true}}
		from := &SMTP{From: mail.Address{Name: "Hub", Address: "hub@example.com"}}
		var headers []string
		for i, p := range append([]string{"harmless"}, append(forMail, hostile.Payloads()...)...) {
			w.everywhere(i, p)
			var all []Notice
			for range 5 {
				all = append(all, *<-stream.C)
			}
			for _, x := range all {
				plainNotice(t, p, &x)
			}
			for _, some := range [][]Notice{all[:1], all} { // one is the subject, several are counted there
				l, err := w.n.letter(&job{key: "mail/owner/x", Who: "owner", Notices: some}, prefs)
				if err != nil {
					t.Fatal(err)
				}
				got := plainMail(t, p, from, l)
				if i == 0 {
					headers = got
				}
				if !slices.Equal(got, headers) {
					t.Errorf("%.80q makes the headers %q", p, got)
				}
				if want := 3*len(some) + 4; strings.Count(l.Text, "\n") > want+len(some) {
					t.Errorf("%.80q makes the lines\n%s", p, l.Text)
				}
			}
		}
	})
}

// oneLine reports whether a text is a single visible line.
func oneLine(s string) bool {
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= 200 &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(blank, r) })
}

func plainNotice(t *testing.T, p string, x *Notice) {
	t.Helper()
	body, err := json.Marshal(payloadOf(x, publicURL))
	back := payload{By: &person{}}
	if err != nil || json.Unmarshal(body, &back) != nil {
		t.Errorf("of %.80q is posted %s, %v", p, body, err)
	}
	for _, s := range []string{x.Heading(), back.Title, back.Text, back.Session.Title, back.By.Name} {
		if !oneLine(s) {
			t.Errorf("of %.80q is told %q", p, s)
		}
	}
	if strings.ContainsFunc(back.URL, func(r rune) bool {
		return r <= ' ' || r > '~' ||
			strings.ContainsRune(`"<>\`, r)
	}) || !strings.HasPrefix(back.URL, publicURL+"/s/short") {
		t.Errorf("%.80q leads to %q", p, back.URL)
	}
}

// plainMail parses a mail, and returns the names of its headers.
func plainMail(t *testing.T, p string, from *SMTP, l Letter) (headers []string) {
	t.Helper()
	m, err := from.message(l)
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if _, err := m.WriteTo(&raw); err != nil {
		t.Fatal(err)
	}
	got, err := mail.ReadMessage(&raw)
	if err != nil {
		t.Fatalf("of %.80q: %v", p, err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
	if err != nil || !oneLine(subject) || got.Header.Get("To") != "<ana@example.com>" || len(got.Header["From"]) != 1 {
		t.Errorf("of %.80q the subject is %q, the mail from %q to %q, %v", p, subject, got.Header["From"],
			got.Header.Get("To"), err)
	}
	_, params, err := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(got.Body, params["boundary"])
	for _, want := range []string{l.Text, l.HTML} {
		part, err := parts.NextRawPart()
		if err != nil {
			t.Fatalf("of %.80q: %v", p, err)
		}
		b, err := io.ReadAll(quotedprintable.NewReader(part))
		if s := strings.ReplaceAll(string(b), "\r\n", "\n"); err != nil ||
			strings.TrimSpace(s) != strings.TrimSpace(strings.ReplaceAll(want, "\r\n", "\n")) {
			t.Errorf("of %.80q is mailed %q, want %q, %v", p, s, want, err)
		}
	}
	if _, err := parts.NextPart(); err != io.EOF {
		t.Errorf("of %.80q a part more is made: %v", p, err)
	}
	plainHTML(t, p, l.HTML)
	return slices.Sorted(maps.Keys(got.Header))
}

// plainHTML checks that only the template's tags and attributes occur.
func plainHTML(t *testing.T, p, source string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.TextNode && !oneLine(strings.ReplaceAll(n.Data, "\n", " ")), n.Type == html.CommentNode,
			n.Type == html.ElementNode && !slices.Contains([]string{"html", "head", "body", "p", "a", "b", "br", "hr"},
				n.Data):
			t.Errorf("%.80q becomes <%s> of a mail", p, n.Data)
		}
		for _, a := range n.Attr {
			if own := a.Key == "href" && (a.Val == publicURL || strings.HasPrefix(a.Val, publicURL+"/")); !own &&
				a.Key != "style" && a.Key != "lang" {
				t.Errorf("%.80q becomes %s=%q of a mail", p, a.Key, a.Val)
			}
		}
	}
}
