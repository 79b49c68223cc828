package dial

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/machine"
)

// asked records a server's request for a token.
type asked struct {
	server string

	mu     sync.Mutex
	reason ahp.McpAuthRequiredReason // "" for none
	params map[string]string
}

func (a *asked) note(res *http.Response, had bool) {
	params := map[string]string{}
	list, err := oauthex.ParseWWWAuthenticate(res.Header.Values("WWW-Authenticate"))
	for _, c := range list {
		if err == nil && c.Scheme == "bearer" {
			params = c.Params
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case res.StatusCode == http.StatusForbidden && params["error"] != "insufficient_scope":
		return // no token helps
	case res.StatusCode == http.StatusForbidden:
		a.reason = ahp.McpAuthRequiredReasonInsufficientScope
	case had:
		a.reason = ahp.McpAuthRequiredReasonExpired
	default:
		a.reason = ahp.McpAuthRequiredReasonRequired
	}
	a.params = params
}

// token returns the error of a server that needs a token; nil when it does not. Its metadata is
// trusted only for its own address, so that no server is given a token for another.
func (a *asked) token(ctx context.Context) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	reason, params := a.reason, a.params
	a.mu.Unlock()
	if reason == "" {
		return nil
	}
	need := ahp.McpAuthRequirement{Reason: reason, RequiredScopes: strings.Fields(params["scope"]),
		Description: params["error_description"],
		Resource:    ahp.ProtectedResourceMetadata{Resource: a.server}}
	if m := a.metadata(ctx, params["resource_metadata"]); m != nil {
		need.Resource.ResourceName, need.Resource.AuthorizationServers = m.ResourceName, m.AuthorizationServers
		need.Resource.ScopesSupported, need.Resource.BearerMethodsSupported = m.ScopesSupported,
			m.BearerMethodsSupported
	}
	return &machine.ServerNeedsToken{Auth: need}
}

// metadata returns where to sign in for the server, from the address in its answer, or from the
// usual one.
func (a *asked) metadata(ctx context.Context, at string) *oauthex.ProtectedResourceMetadata {
	u, err := url.Parse(a.server)
	if err != nil {
		return nil
	}
	usual := u.Scheme + "://" + u.Host + "/.well-known/oauth-protected-resource" + strings.TrimSuffix(u.Path, "/")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	m, err := oauthex.GetProtectedResourceMetadata(ctx, cmp.Or(at, usual), a.server, http.DefaultClient)
	if err != nil {
		return nil // a sign-in may still be possible without metadata
	}
	return m
}
