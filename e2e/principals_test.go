package e2e

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// A page of another site, or a program that guesses tokens of agents, does not keep the owner's client out.
func TestGuessesDoNotLockOwnerOut(t *testing.T) {
	prog := Start(t, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	guess := func(method, path, header, value string) {
		req, err := http.NewRequestWithContext(ctx, method, prog.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(header, value)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusForbidden && res.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("%s %s: %s", method, path, res.Status)
		}
	}
	for range 25 {
		guess(http.MethodGet, "/ahp?tkn=x", "Sec-Fetch-Site", "cross-site")
		guess(http.MethodPost, "/mcp", "Authorization", "Bearer x")
		guess(http.MethodGet, "/ahp", "Authorization", "Bearer x")
	}
	p, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: prog.Token()})
	if err != nil {
		t.Fatalf("the owner's client: %v", err)
	}
	defer p.Close()
	if _, err := p.Initialize(ctx, ahp.RootURI); err != nil {
		t.Error(err)
	}
	if _, status := signIn(t, prog.SignIn()); status != http.StatusOK {
		t.Errorf("the owner's browser: %d", status)
	}
}
