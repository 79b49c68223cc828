package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e/peer"
)

// authenticator adds a virtual authenticator to a page that always recognizes its user.
func authenticator(page *Page) {
	page.t.Helper()
	page.Do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		if _, err := cdp.Call(ctx, target, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return chromedp.Void{}, err
		}
		_, err := cdp.Call(ctx, target, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
			Options: &webauthn.VirtualAuthenticatorOptions{Protocol: webauthn.AuthenticatorProtocolCtap2,
				Transport: webauthn.AuthenticatorTransportInternal, HasResidentKey: true, HasUserVerification: true,
				IsUserVerified: true, AutomaticPresenceSimulation: true}})
		return chromedp.Void{}, err
	})
}

// The owner sets a password and creates a passkey, and signs in with each; a removed passkey is
// refused.
func TestWaysToSignIn(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	page := OpenBrowser(t).Page()
	page.Allow("403")
	authenticator(page)
	home := strings.Replace(prog.URL, "127.0.0.1", "localhost", 1) // passkeys require host names
	page.Open(strings.Replace(prog.SignIn(), prog.URL, home, 1))
	page.Wait(`location.pathname === '/' && document.readyState === 'complete'`)

	page.Open(home + "/account")
	page.Do(chromedp.SetValue("input[name=password]", "correct horse battery"))
	page.Click(`form[action="/account/password"] .btn`)
	page.Wait(`document.querySelector('input[name=current]') && document.readyState === 'complete'`)
	page.Do(chromedp.SetValue(`[data-passkey] input[name=name]`, "my laptop"))
	page.Click(`[data-passkey] .btn`)
	page.WaitText("main .links", "my laptop")
	page.Shot("account")

	out := func() {
		Eval[bool](page, `(fetch('/signout', {method: 'POST'}).then(() => location.assign('/signin?next=/account')), true)`)
		page.Wait(`location.pathname === '/signin' && document.readyState === 'complete' && document.querySelector('#password')`)
	}
	out()
	page.Shot("signin")
	page.Do(chromedp.SetValue("#password", "wrong horse battery"))
	page.Click(`form[action="/signin/password"] .btn`)
	page.WaitText("[role=alert]", "Incorrect password")
	page.Do(chromedp.SetValue("#password", "correct horse battery"))
	page.Click(`form[action="/signin/password"] .btn`)
	page.Wait(`document.querySelector('input[name=current]')`)

	out()
	page.Click(`[data-passkey] .btn`)
	page.Wait(`location.pathname === '/account' && document.querySelector('main .links')?.innerText.includes('last used')`)
	page.Click(`form[action^="/account/passkeys/"][action$="/remove"] .btn`)
	page.Wait(`document.readyState === 'complete' && !document.querySelector('form[action$="/remove"]')`)
	out()
	if Eval[bool](page, `!!document.querySelector('[data-passkey]')`) {
		t.Error("a passkey is offered that is no more")
	}
}

// A token made on the page opens a socket until it is revoked there, which closes the socket
// immediately.
func TestPersonalToken(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	page := OpenBrowser(t).Page()
	page.SignIn(prog)
	page.Open(prog.URL + "/account")
	page.Do(chromedp.SetValue(`form[action="/account/tokens"] input[name=name]`, "the editor"))
	page.Click(`form[action="/account/tokens"] .btn`)
	page.Wait(`document.querySelector('#made')?.value`)
	page.Click(`[data-copy="made"]`)
	// for copying by hand
	page.Wait(`(m => m.selectionEnd - m.selectionStart === m.value.length)(document.querySelector('#made'))`)
	page.Shot("token")
	token := Eval[string](page, `document.querySelector('#made').value`)
	client := dial(t, ctx, prog, token)
	newOverProtocol(t, ctx, client)
	page.Open(prog.URL + "/account")
	if page.WaitText("main .links", "last used"); strings.Contains(Eval[string](page,
		`document.documentElement.outerHTML`), token) {
		t.Error("the token is shown again")
	}
	start := time.Now()
	page.Click(`form[action$="/revoke"] .btn`)
	if err := client.Wait(ctx, func() bool { return client.Err() != nil }); err != nil && client.Err() == nil {
		t.Fatal("the socket lives on:", err)
	}
	checkPrompt(t, "the end of the revoked token's socket", start)
	if _, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: token, ClientID: uuid.NewString()}); err == nil {
		t.Error("a revoked token opens a socket")
	}
}
