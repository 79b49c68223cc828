package notify

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
)

// Letter is one mail. Its texts combine fixed lines with cleaned ones; the sender still encodes
// them.
type Letter struct {
	ID      string // the same for each attempt, as Message-ID
	To      string
	Subject string
	Text    string
	HTML    string

	Unsubscribe string // address that ends these mails; "" for a mail that was requested
}

// deliverMail sends a batch, or a verification code.
func (n *Notifier) deliverMail(ctx context.Context, j *job) (string, error) {
	p, err := n.Prefs(j.Who)
	if err != nil {
		return "", err
	}
	m, err := n.letter(j, &p)
	if err == nil {
		err = n.cfg.Mailer.Send(ctx, m)
	}
	if err != nil {
		return "", err
	}
	return "Sent to " + m.To, nil
}

func (n *Notifier) letter(j *job, p *Prefs) (Letter, error) {
	switch {
	case !n.CanMail():
		return Letter{}, final{errors.New("this server no longer sends email")}
	case j.Code != "" && j.Address == p.Mail.Address && !p.Mail.Verified:
		return codeLetter(j, n.cfg.Public()), nil
	case j.Code != "" || !p.Mail.Verified || p.Paused || len(p.On[Mail]) == 0 && p.On[Mail] != nil:
		return Letter{}, final{errors.New("email was turned off before this was sent")}
	}
	base := strings.TrimSuffix(n.cfg.Public(), "/")
	v := letterView{Base: base, More: j.More, Settings: base + "/settings/notifications",
		Stop: base + "/unsubscribe?" + url.Values{"token": {n.unsubscriber(j.Who, p.Mail.Address)}}.Encode()}
	for i := range j.Notices {
		x := &j.Notices[i]
		v.Items = append(v.Items, letterItem{x.Heading(), x.Text, base + x.Path})
	}
	return v.write(Letter{ID: id("mail", j.key), To: p.Mail.Address, Subject: subject(j), Unsubscribe: v.Stop}), nil
}

// subject returns the heading of a single notice, or the number of notices by kind.
func subject(j *job) string {
	if len(j.Notices) == 1 && j.More == 0 {
		return j.Notices[0].Heading()
	}
	var parts []string
	for _, k := range Kinds() {
		n := 0
		for _, x := range j.Notices {
			if x.Kind == k {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, many[k]))
		}
	}
	return fmt.Sprintf("%d notifications: %s", len(j.Notices)+j.More, strings.Join(parts, ", "))
}

var many = map[Kind]string{Approval: "to approve", Question: "asked", Finished: "finished", Failed: "failed",
	Comment: "commented",
	Mention: "mentioning you", Verdict: "reviewed", Machine: "about machines"}

type letterView struct {
	Items                []letterItem
	More                 int
	Base, Settings, Stop string
}

type letterItem struct{ Heading, Text, URL string }

func (v *letterView) write(m Letter) Letter {
	m.Text, m.HTML = v.text(), v.html()
	return m
}

func (v *letterView) text() string {
	var b strings.Builder
	for _, it := range v.Items {
		fmt.Fprintf(&b, "%s\n", it.Heading)
		if it.Text != "" {
			fmt.Fprintf(&b, "%s\n", it.Text)
		}
		fmt.Fprintf(&b, "%s\n\n", it.URL)
	}
	if v.More > 0 {
		fmt.Fprintf(&b, "And %d earlier ones.\n\n", v.More)
	}
	fmt.Fprintf(&b, "-- \nNotification settings: %s\nUnsubscribe: %s\n", v.Settings, v.Stop)
	return b.String()
}

// html returns the HTML, which is deliberately simple, because mail programs support little else in
// common. It escapes every value itself: html/template would too, but it makes the linker keep
// every exported method.
func (v *letterView) html() string {
	var b strings.Builder
	b.WriteString(letterHead + "\n")
	for _, it := range v.Items {
		fmt.Fprintf(&b, `<p><a href="%s"><b>%s</b></a>`, html.EscapeString(it.URL), html.EscapeString(it.Heading))
		if it.Text != "" {
			b.WriteString("<br>" + html.EscapeString(it.Text))
		}
		b.WriteString("</p>\n")
	}
	if v.More > 0 {
		fmt.Fprintf(&b, "<p>And %d earlier ones.</p>\n", v.More)
	}
	fmt.Fprintf(&b, `<hr><p style="color:#555;font-size:13px">You get this from <a href="%[1]s">%[1]s</a> because you `+
		`subscribed: <a href="%[2]s">notification settings</a>, <a href="%[3]s">unsubscribe</a>.</p></body></html>`+"\n",
		html.EscapeString(v.Base), html.EscapeString(v.Settings), html.EscapeString(v.Stop))
	return b.String()
}

const letterHead = `<!DOCTYPE html><html lang="en"><body style="font-family:system-ui,sans-serif;line-height:1.5">`

func codeLetter(j *job, public string) Letter {
	text := fmt.Sprintf("%s\n\nEnter this code in the notification settings at %s to get notifications by email. It "+
		"expires in 30 minutes.\n\nIf you didn't request this, ignore it. You won't get another email.\n", j.Code,
		public)
	page := fmt.Sprintf(`<!DOCTYPE html><html lang="en"><body style="font-family:system-ui,sans-serif;line-height:1.5"><p style="font-size:24px"><b>%s</b></p><p>Enter this code in the notification settings at %s to get notifications by email. It expires in 30 minutes.</p><p>If you didn't request this, ignore it. You won't get another email.</p></body></html>`,
		html.EscapeString(j.Code), html.EscapeString(public))
	return Letter{ID: id("code", j.key+j.Code), To: j.Address, Subject: "Code " + j.Code +
		" verifies your email address", Text: text, HTML: page}
}
