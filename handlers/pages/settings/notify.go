package settings

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

const notifyPath = "/settings/notifications"

// WithNotify wraps h to answer 404 on a host without notifications.
func (p *Pages) WithNotify(h site.Handler) site.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.Notify == nil {
			return site.NotFound("Notifications are turned off on this server.")
		}
		return h(w, r)
	}
}

// ShowNotifications serves GET /settings/notifications.
func (p *Pages) ShowNotifications(w http.ResponseWriter, r *http.Request) error {
	return p.sendNotifications(w, r, http.StatusOK, page.Notifications{})
}

func (p *Pages) sendNotifications(w http.ResponseWriter, r *http.Request, status int, m page.Notifications) error {
	who := access.FromContext(r.Context())
	prefs, err := p.Notify.Prefs(who.ID)
	if err != nil {
		return err
	}
	m.Frame, m.Now = p.Frame(r, "Notifications", "settings"), p.Now()
	m.Frame.Styles = append(m.Frame.Styles, "css/people.css", "css/notify.css")
	if !slices.Contains(m.Frame.Scripts, site.NotifyScript) {
		m.Frame.Scripts = append(m.Frame.Scripts, site.NotifyScript)
	}
	m.Frame.Scripts = append(m.Frame.Scripts, "js/push.js")
	m.Here, m.Paused, m.Account, m.Owner = site.NotifiesHere(r), prefs.Paused, who.Has(access.RightAccount),
		who.Has(access.RightManage)
	if m.Account {
		if err := p.notifyAccount(r.Context(), who.ID, &m, &prefs); err != nil {
			return err
		}
		if err := p.notifyDevices(r, &m); err != nil {
			return err
		}
	}
	for _, c := range channelsOf(who) {
		m.Channels = append(m.Channels, string(c))
	}
	for _, k := range notify.Kinds() {
		row := page.NotifyKind{Kind: string(k), On: map[string]bool{}}
		for _, c := range channelsOf(who) {
			row.On[string(c)] = prefs.Wants(c, k)
		}
		m.Kinds = append(m.Kinds, row)
	}
	for _, uri := range prefs.Muted {
		if s, ok := p.Host.Summary(uri); ok && site.Sees(who, uri, uri, ahp.ChannelSession) {
			m.Muted = append(m.Muted, page.NotifyMuted{Short: core.ShortID(uri), Title: site.SessionTitle(s.Title)})
		}
	}
	w.Header().Set("Cache-Control", "no-store")
	return site.Send(w, status, page.NotificationsPage(m))
}

// channelsOf returns the channels available to a person: guests have only their open pages.
func channelsOf(who access.Principal) []notify.Channel {
	if who.Has(access.RightAccount) {
		return notify.Channels()
	}
	return []notify.Channel{notify.Browser}
}

// notifyAccount adds what only accounts have: mail and webhooks.
func (p *Pages) notifyAccount(ctx context.Context, who string, m *page.Notifications, prefs *notify.Prefs) error {
	hooks, err := p.Notify.Hooks(ctx, who)
	if err != nil {
		return err
	}
	for i := range hooks {
		h := &hooks[i]
		m.Hooks = append(m.Hooks, page.NotifyHook{ID: h.ID, Where: h.Where(), Everything: h.Everything, Gone: h.Gone,
			Format: string(h.Format), Created: h.Created, Last: resultOf(h.Last)})
	}
	box := &prefs.Mail
	m.CanMail = p.Notify.CanMail()
	m.Mail = page.NotifyMail{Address: box.Address, Verified: box.Verified, Typed: m.Mail.Typed,
		Rhythm: string(box.Rhythm), At: box.At(), Zone: box.Zone}
	if last, ok := p.Notify.LastMail(ctx, who); ok {
		m.Mail.Last = resultOf(&last)
	}
	return nil
}

func resultOf(r *notify.Result) *page.NotifyResult {
	if r == nil {
		return nil
	}
	return &page.NotifyResult{At: r.At, Again: r.Again, OK: r.OK, Text: site.Sentence(r.Text)}
}

// ChooseNotifications saves the table of kinds and channels, and the pause of all.
func (p *Pages) ChooseNotifications(w http.ResponseWriter, r *http.Request) error {
	who := access.FromContext(r.Context())
	if err := r.ParseForm(); err != nil {
		return site.BadRequest("This form can't be read. Reload the page and try again.")
	}
	err := p.Notify.Change(r.Context(), who.ID, func(prefs *notify.Prefs) error {
		for _, c := range channelsOf(who) {
			var on []notify.Kind
			for _, k := range notify.Kinds() {
				if slices.Contains(r.PostForm[string(c)], string(k)) {
					on = append(on, k)
				}
			}
			prefs.Choose(c, on)
		}
		prefs.Paused = r.PostForm.Get("paused") == "yes"
		return nil
	})
	if err != nil {
		return err
	}
	return site.FinishForm(w, r, notifyPath)
}

// SetNotifyHere turns notifications in this browser on or off. The browser itself asks for permission.
func (p *Pages) SetNotifyHere(w http.ResponseWriter, r *http.Request) error {
	value := "off"
	if r.PostFormValue("on") == "yes" {
		value = "on"
	}
	site.SetPreference(w, site.NotifyCookie, value)
	return site.FinishForm(w, r, notifyPath)
}

// Mute mutes or unmutes a session's notifications for the visitor.
func (p *Pages) Mute(w http.ResponseWriter, r *http.Request) error {
	v, err := p.FindVisit(r)
	if err != nil {
		return err
	}
	off := r.PostFormValue("muted") == "yes"
	err = p.Notify.Change(r.Context(), v.Who.ID, func(prefs *notify.Prefs) error {
		prefs.Mute(v.Session, off)
		return nil
	})
	if err != nil {
		return err
	}
	if r.PostFormValue("back") != "" {
		return site.FinishForm(w, r, backTo(r))
	}
	return site.FinishForm(w, r, "/s/"+v.Short)
}

// SetMail sends a code to a new address, sets when mail is sent, or removes the address.
func (p *Pages) SetMail(w http.ResponseWriter, r *http.Request) error {
	who, ctx := access.FromContext(r.Context()), r.Context()
	var err error
	switch r.PostFormValue("do") {
	case "remove":
		audit.Detail(ctx, "removed")
		err = p.Notify.RemoveAddress(ctx, who.ID)
	case "rhythm":
		audit.Detail(ctx, "schedule")
		if err = p.Notify.Change(ctx, who.ID, func(prefs *notify.Prefs) error {
			return prefs.Mail.SetRhythm(notify.Rhythm(r.PostFormValue("rhythm")), r.PostFormValue("at"),
				r.PostFormValue("zone"))
		}); err == nil {
			err = p.Notify.Reschedule(ctx, who.ID)
		}
	default:
		err = p.Notify.SetAddress(ctx, who.ID, r.PostFormValue("address"))
	}
	if err != nil {
		return p.sendNotifications(w, r, http.StatusUnprocessableEntity,
			page.Notifications{MailError: site.Sentence(err.Error()),
				Mail: page.NotifyMail{Typed: r.PostFormValue("address")}})
	}
	return site.FinishForm(w, r, notifyPath+"#mail")
}

// VerifyMail checks the code that was mailed to an address.
func (p *Pages) VerifyMail(w http.ResponseWriter, r *http.Request) error {
	if err := p.Notify.Verify(r.Context(), access.FromContext(r.Context()).ID, r.PostFormValue("code")); err != nil {
		return p.sendNotifications(w, r, http.StatusUnprocessableEntity,
			page.Notifications{MailError: site.Sentence(err.Error())})
	}
	return site.FinishForm(w, r, notifyPath+"#mail")
}

// MakeHook creates a webhook and shows its secret only in this answer.
func (p *Pages) MakeHook(w http.ResponseWriter, r *http.Request) error {
	who, address := access.FromContext(r.Context()), r.PostFormValue("url")
	everything := r.PostFormValue("everything") == "yes"
	if everything && !who.Has(access.RightManage) {
		return site.BadRequest("Only the owner can create webhooks for the whole server.")
	}
	h, secret, err := p.Notify.NewHook(r.Context(), notify.Hook{Owner: who.ID, URL: address, Everything: everything,
		Format: notify.Format(r.PostFormValue("format"))})
	if err != nil {
		return p.sendNotifications(w, r, http.StatusUnprocessableEntity,
			page.Notifications{HookError: site.Sentence(err.Error()), HookURL: address,
				HookFormat: r.PostFormValue("format")})
	}
	audit.Detail(r.Context(), h.Where())
	if secret == "" {
		return site.FinishForm(w, r, notifyPath+"#hooks")
	}
	return p.sendNotifications(w, r, http.StatusOK, page.Notifications{Secret: secret})
}

// TestHook sends a test message to a webhook.
func (p *Pages) TestHook(w http.ResponseWriter, r *http.Request) error {
	h, err := p.Notify.TestHook(r.Context(), access.FromContext(r.Context()).ID, chi.URLParam(r, "hook"))
	return p.hookDone(w, r, h, err)
}

// RemoveHook removes a webhook.
func (p *Pages) RemoveHook(w http.ResponseWriter, r *http.Request) error {
	h, err := p.Notify.RemoveHook(r.Context(), access.FromContext(r.Context()).ID, chi.URLParam(r, "hook"))
	return p.hookDone(w, r, h, err)
}

func (p *Pages) hookDone(w http.ResponseWriter, r *http.Request, h notify.Hook, err error) error {
	if errors.Is(err, notify.ErrNoHook) {
		return site.NotFound(site.Sentence(err.Error()))
	}
	if errors.Is(err, notify.ErrLockedHook) {
		return p.sendNotifications(w, r, http.StatusUnprocessableEntity,
			page.Notifications{HookError: site.Sentence(err.Error())})
	}
	if err != nil {
		return err
	}
	audit.Detail(r.Context(), h.Where())
	return site.FinishForm(w, r, notifyPath+"#hooks")
}

// Unsubscribe serves the page of a link in a mail. GET changes nothing, since programs open links too. Its button,
// and a mail program's one click (RFC 8058), post.
func (p *Pages) Unsubscribe(w http.ResponseWriter, r *http.Request) {
	p.Adapt(p.WithNotify(p.unsubscribe))(w, r)
}

func (p *Pages) unsubscribe(w http.ResponseWriter, r *http.Request) error {
	token := r.URL.Query().Get("token")
	f := part.Frame{Title: "Unsubscribe", Asset: p.Assets.Path, Imports: p.Assets.Imports,
		Viewer: part.Viewer{Guest: true}, Body: "door", Styles: []string{"css/door.css"}}
	m := page.Unsubscribe{Frame: f, Action: "/unsubscribe?" + url.Values{"token": {token}}.Encode()}
	var err error
	if r.Method == http.MethodPost {
		m.Done = true
		var who string
		if who, m.Address, err = p.Notify.Unsubscribe(r.Context(), token); err == nil {
			audit.Detail(r.Context(), who)
		}
	} else {
		_, m.Address, err = p.Notify.Unsubscribes(r.Context(), token)
	}
	status := http.StatusOK
	if errors.Is(err, notify.ErrNotSubscribed) {
		m.Error, status = site.Sentence(err.Error()), http.StatusNotFound
	} else if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return site.Send(w, status, page.UnsubscribePage(m))
}
