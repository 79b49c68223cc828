package people

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/audit"
	accounts "github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/templ/page"
)

// Passwords stores the passwords of accounts.
type Passwords interface {
	Has(ctx context.Context, account string) (bool, error)
	Check(ctx context.Context, account, password string) error
	Set(ctx context.Context, account, password string) error
}

// Accounts are the ways to sign in, and the members.
type Accounts struct {
	Passwords Passwords
	Passkeys  *accounts.Passkeys
	Tokens    *access.Personal
	Members   *access.Members // members and open invitations; nil: there are none
}

const mostAnswer = 64 << 10 // bytes of an authenticator's answer

// WithAccounts wraps h to answer 404 on a host without accounts.
func (p *Pages) WithAccounts(h site.Handler) site.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if p.Accounts.Tokens == nil {
			return site.NotFound("This server has no accounts.")
		}
		return h(w, r)
	}
}

// ShowAccount serves the account page: password, passkeys, tokens for AHP clients.
func (p *Pages) ShowAccount(w http.ResponseWriter, r *http.Request) error {
	return p.sendAccount(w, r, http.StatusOK, page.Account{})
}

func (p *Pages) sendAccount(w http.ResponseWriter, r *http.Request, status int, m page.Account) error {
	who := access.FromContext(r.Context())
	m.Frame, m.Now = p.Frame(r, "Account", "settings"), p.Now()
	m.Frame.Styles = append(m.Frame.Styles, "css/people.css")
	m.Frame.Scripts = append(m.Frame.Scripts, "js/passkey.js")
	var err error
	if m.Password, err = p.Accounts.Passwords.Has(r.Context(), who.ID); err != nil {
		return err
	}
	keys, err := p.Accounts.Passkeys.List(r.Context(), who.ID)
	if err != nil {
		return err
	}
	m.CanPasskey = accounts.PasskeysAt(accounts.Origin(r, p.Public))
	for _, k := range keys {
		m.Passkeys = append(m.Passkeys, page.Passkey{Key: k.Key, Name: k.Name, Host: k.Host, Created: k.Created,
			Used: k.Used})
	}
	for _, t := range p.Accounts.Tokens.List(who.ID) {
		m.Tokens = append(m.Tokens, page.APIToken{ID: t.ID, Name: t.Name, Created: t.Created, Expires: t.Expires,
			Used: t.Used})
	}
	m.Owner, m.Name = who.Role == access.RoleOwner, who.Name
	if p.Accounts.Members != nil {
		_, invited := p.Accounts.Members.Principal(who.ID)
		m.Bare = invited && !m.Password && len(keys) == 0
	}
	w.Header().Set("Cache-Control", "no-store")
	return site.Send(w, status, page.AccountPage(m))
}

// SetPassword replaces or removes the password, and signs out all other browsers.
func (p *Pages) SetPassword(w http.ResponseWriter, r *http.Request) error {
	who := access.FromContext(r.Context())
	had, err := p.Accounts.Passwords.Has(r.Context(), who.ID)
	if err != nil {
		return err
	}
	if had {
		err = p.Accounts.Passwords.Check(r.Context(), who.ID, r.PostFormValue("current"))
		if errors.Is(err, accounts.ErrWrongPassword) {
			return p.sendAccount(w, r, http.StatusForbidden, page.Account{Error: "Current password is incorrect."})
		}
		if err != nil {
			return err
		}
	}
	next := r.PostFormValue("password")
	if r.PostFormValue("remove") != "" {
		if next = ""; !had {
			return p.sendAccount(w, r, http.StatusUnprocessableEntity,
				page.Account{Error: "You don't have a password to remove."})
		}
	} else if next == "" {
		return p.sendAccount(w, r, http.StatusUnprocessableEntity, page.Account{Error: "Enter a new password."})
	}
	if err := p.Accounts.Passwords.Set(r.Context(), who.ID, next); err != nil {
		return p.sendAccount(w, r, http.StatusUnprocessableEntity, page.Account{Error: site.Sentence(err.Error())})
	}
	if p.Browsers != nil {
		if _, err := p.Browsers.SignOutOthers(r); err != nil && !errors.Is(err, accounts.ErrSignedOut) {
			return err
		}
	}
	return site.FinishForm(w, r, "/account")
}

// MakeToken creates a token and shows it only in this answer: the host stores a hash.
func (p *Pages) MakeToken(w http.ResponseWriter, r *http.Request) error {
	var expires time.Time
	switch d := r.PostFormValue("expires"); d {
	case "168h", "720h", "8760h":
		age, _ := time.ParseDuration(d) // one of three constants
		expires = p.Now().Add(age).UTC()
	case "never":
	default:
		return p.sendAccount(w, r, http.StatusBadRequest, page.Account{TokenError: "Choose when the token expires."})
	}
	token, made, err := p.Accounts.Tokens.New(r.Context(), access.FromContext(r.Context()).ID, r.PostFormValue("name"),
		expires)
	if err != nil {
		return p.sendAccount(w, r, http.StatusUnprocessableEntity, page.Account{TokenError: site.Sentence(err.Error())})
	}
	audit.Detail(r.Context(), made.Name)
	return p.sendAccount(w, r, http.StatusOK, page.Account{New: token})
}

// RevokeToken revokes one of the account's own tokens.
func (p *Pages) RevokeToken(w http.ResponseWriter, r *http.Request) error {
	gone, err := p.Accounts.Tokens.RevokeOf(r.Context(), access.FromContext(r.Context()).ID, chi.URLParam(r, "token"))
	if errors.Is(err, access.ErrNoToken) {
		return site.NotFound(site.Sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	audit.Detail(r.Context(), gone.Name)
	return site.FinishForm(w, r, "/account")
}

// BeginPasskey answers a script with the browser's options.
func (p *Pages) BeginPasskey(w http.ResponseWriter, r *http.Request) error {
	who := access.FromContext(r.Context())
	options, err := p.Accounts.Passkeys.BeginMaking(r.Context(), accounts.Origin(r, p.Public), who.ID, who.Name)
	if err != nil {
		return site.BadRequest(site.Sentence(err.Error()))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	return json.NewEncoder(w).Encode(options)
}

// MakePasskey stores a passkey created by a browser.
func (p *Pages) MakePasskey(w http.ResponseWriter, r *http.Request) error {
	var sent struct {
		Name       string          `json:"name"`
		Credential json.RawMessage `json:"credential"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, mostAnswer)).Decode(&sent); err != nil {
		return site.BadRequest("The passkey response is invalid. Try again.")
	}
	who := access.FromContext(r.Context())
	name, err := access.CleanName(sent.Name)
	if err != nil {
		name = "Passkey"
	}
	if err := p.Accounts.Passkeys.Make(r.Context(), who.ID, name, sent.Credential); err != nil {
		return site.BadRequest(site.Sentence(err.Error()))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// RemovePasskey removes one of the account's own passkeys.
func (p *Pages) RemovePasskey(w http.ResponseWriter, r *http.Request) error {
	gone, err := p.Accounts.Passkeys.Remove(r.Context(), access.FromContext(r.Context()).ID, chi.URLParam(r, "key"))
	if errors.Is(err, accounts.ErrPasskeyGone) {
		return site.NotFound(site.Sentence(err.Error()))
	}
	if err != nil {
		return err
	}
	audit.Detail(r.Context(), gone.Name)
	return site.FinishForm(w, r, "/account")
}
