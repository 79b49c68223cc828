package site

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/part"
)

// Frame returns the frame of the caller's page: theme, rights, rail. Pages of a session set Session.
func (st *Site) Frame(r *http.Request, title, tab string) part.Frame {
	who := access.FromContext(r.Context())
	f := part.Frame{Title: title, Tab: tab, Asset: st.Assets.Path, Imports: st.Assets.Imports,
		Path: r.URL.RequestURI(), Viewer: viewer(who)}
	if c, err := r.Cookie("theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		f.Theme = c.Value
	}
	if c, err := r.Cookie("safe"); err == nil && c.Value == "on" {
		f.Safe = true
	}
	if st.Notify != nil && NotifiesHere(r) && !st.PushesHere(r) {
		f.Scripts = append(f.Scripts, NotifyScript)
	}
	if who.IsKnown() && !f.Viewer.Guest {
		f.Rail = st.railItems(core.Caller{Principal: who})
		f.Needs = needing(f.Rail)
	}
	return f
}

// roleWords are the roles as shown to guests.
var roleWords = map[access.Role]string{access.RoleViewer: "Viewer", access.RoleCommenter: "Commenter",
	access.RoleDriver: "Driver", access.RoleOwner: "Owner"}

func viewer(who access.Principal) part.Viewer {
	return part.Viewer{
		ID: who.ID, Name: who.Name, Role: roleWords[who.Role], Guest: who.Link != "", Owner: who.Role == access.RoleOwner,
		Prompt: who.Has(access.RightPrompt), Approve: who.Has(access.RightApprove),
		Guests: who.Role == access.RoleOwner || who.Guests,
		Type:   who.Has(access.RightType), Comment: who.Has(access.RightComment),
	}
}

func needing(items []part.RailItem) int {
	n := 0
	for _, it := range items {
		if it.Status.Class == "need" {
			n++
		}
	}
	return n
}

// SessionFrame returns the frame of a session's page: its head, and the marks of its rooms in Frame.Live.
func (st *Site) SessionFrame(r *http.Request, v Visit, tab string) (part.Frame, part.SessionHead, *ahp.SessionState,
	error) {
	var sess *ahp.SessionState
	var head part.SessionHead
	mark, err := st.Live.Draw(r.Context(), v.Who, "session:"+v.Short, func(_ live.Room, s live.States) {
		if sess, _ = s[v.Session].(*ahp.SessionState); sess != nil {
			head = st.head(v.Who, v.Short, v.Session, sess)
		}
	})
	if err != nil {
		return part.Frame{}, head, nil, err
	}
	if sess == nil {
		return part.Frame{}, head, nil, live.ErrGone
	}
	f := st.Frame(r, head.Title, tab)
	marks := []string{mark}
	if f.Rail != nil {
		rail, err := st.Live.Draw(r.Context(), v.Who, "rail", func(live.Room, live.States) {})
		if err != nil {
			return f, head, nil, err
		}
		marks = append(marks, rail)
	}
	f.Live, f.Session = live.Query(marks...), &head
	head.Muted, head.Path = st.isMuted(v), f.Path
	st.greet(&f, v)
	return f, head, sess, nil
}

// ReviewFrame returns the frame of a page with a review, with its styles and scripts.
func (st *Site) ReviewFrame(r *http.Request, v Visit, title, tab string) part.Frame {
	f := st.StyledFrame(r, v, title, tab)
	f.Scripts = append(f.Scripts, part.ReviewScripts()...)
	return f
}

// StyledFrame returns the frame of a session's page in the style of the review.
func (st *Site) StyledFrame(r *http.Request, v Visit, title, tab string) part.Frame {
	f := st.Frame(r, title, tab)
	s := st.SessionFor(v.Who, v.Session)
	head := st.head(v.Who, v.Short, v.Session, s)
	f.Session = &head
	st.greet(&f, v)
	f.Title = title + " · " + head.Title
	f.Styles = append(f.Styles, "css/review.css")
	return f
}

// SetPreference stores a preference in a cookie for a year.
func SetPreference(w http.ResponseWriter, name, value string) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
}

// NotifiesHere reports whether notifications are on in the requesting browser.
func NotifiesHere(r *http.Request) bool {
	c, err := r.Cookie(NotifyCookie)
	return err == nil && c.Value == "on"
}

// PushesHere reports whether the caller's notifications are pushed to the requesting browser, so that its pages show
// none.
func (st *Site) PushesHere(r *http.Request) bool {
	return st.Notify != nil && st.Browser != nil &&
		st.Notify.PushesTo(r.Context(), access.FromContext(r.Context()).ID, st.Browser(r))
}

const (
	NotifyCookie = "notify" // on in this browser
	NotifyScript = "js/notify.js"
)

// isMuted reports whether the visitor muted the session.
func (st *Site) isMuted(v Visit) bool {
	if st.Notify == nil {
		return false
	}
	prefs, err := st.Notify.Prefs(v.Who.ID)
	return err == nil && prefs.Mutes(v.Session)
}

// ShowPeople adds the current viewers of a session to its page, and makes the page's stream report
// where its reader is: in names the part within the tab, such as the id of a chat.
func (st *Site) ShowPeople(ctx context.Context, v Visit, f *part.Frame, in string) error {
	mark, err := st.Live.Draw(ctx, v.Who, "people:"+v.Short, func(room live.Room, _ live.States) {
		f.Session.People = room.(interface{ People() []part.Person }).People()
	})
	f.Live += "&" + live.Query(mark) + "&" + url.Values{"s": {v.Short}, "at": {f.Tab}, "in": {in}}.Encode()
	return err
}
