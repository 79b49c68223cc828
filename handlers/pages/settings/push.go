package settings

import (
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/notify"
	"github.com/ahphub/ahphub/templ/page"
)

const pushPath = notifyPath + "#push"

// notifyDevices adds the devices that get push messages.
func (p *Pages) notifyDevices(r *http.Request, m *page.Notifications) error {
	devices, err := p.Notify.Devices(r.Context(), access.FromContext(r.Context()).ID)
	if err != nil {
		return err
	}
	m.PushKey, m.Pushed = p.Notify.PushKey(), p.PushesHere(r)
	browser := p.browserOf(r)
	for i := range devices {
		d := &devices[i]
		m.Devices = append(m.Devices, page.NotifyDevice{ID: d.ID, Agent: d.Agent,
			This: browser != "" && d.Browser == browser, Last: resultOf(d.Last)})
	}
	return nil
}

func (p *Pages) browserOf(r *http.Request) string {
	if p.Browser == nil {
		return ""
	}
	return p.Browser(r)
}

// AddDevice stores a browser's subscription, posted by a script.
func (p *Pages) AddDevice(w http.ResponseWriter, r *http.Request) error {
	d, err := p.Notify.AddDevice(r.Context(), notify.Device{Owner: access.FromContext(r.Context()).ID,
		Browser: p.browserOf(r), Agent: r.UserAgent()},
		notify.Subscription{Endpoint: r.PostFormValue("endpoint"), Key: r.PostFormValue("p256dh"),
			Secret: r.PostFormValue("auth")})
	if refused, ok := errors.AsType[*notify.RefusedError](err); ok {
		return site.BadRequest(site.Sentence(refused.Error()))
	}
	return p.deviceDone(w, r, d, err)
}

// TestDevice sends a test message to a device.
func (p *Pages) TestDevice(w http.ResponseWriter, r *http.Request) error {
	d, err := p.Notify.TestDevice(r.Context(), access.FromContext(r.Context()).ID, chi.URLParam(r, "device"))
	return p.deviceDone(w, r, d, err)
}

// RemoveDevice ends push messages to a device.
func (p *Pages) RemoveDevice(w http.ResponseWriter, r *http.Request) error {
	d, err := p.Notify.RemoveDevice(r.Context(), access.FromContext(r.Context()).ID, chi.URLParam(r, "device"))
	return p.deviceDone(w, r, d, err)
}

// ResetPush replaces a lost key.
func (p *Pages) ResetPush(w http.ResponseWriter, r *http.Request) error {
	if err := p.Notify.ResetPush(r.Context()); err != nil {
		return p.deviceDone(w, r, notify.Device{}, err)
	}
	return site.FinishForm(w, r, pushPath)
}

func (p *Pages) deviceDone(w http.ResponseWriter, r *http.Request, d notify.Device, err error) error {
	switch {
	case errors.Is(err, notify.ErrNoDevice):
		return site.NotFound(site.Sentence(err.Error()))
	case errors.As(err, new(*notify.RefusedError)):
		return p.sendNotifications(w, r, http.StatusUnprocessableEntity,
			page.Notifications{PushError: site.Sentence(err.Error())})
	case err != nil:
		return err
	}
	audit.Detail(r.Context(), d.Service())
	return site.FinishForm(w, r, pushPath)
}
