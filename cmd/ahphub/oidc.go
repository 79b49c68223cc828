package main

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/ahphub/ahphub/hub/people"
	"github.com/ahphub/ahphub/web"
)

const secretVariable = "AHPHUB_OIDC_CLIENT_SECRET"

// oidcConfig configures a provider of OpenID Connect and who may sign in through it.
type oidcConfig struct {
	Issuer           string   `placeholder:"URL" help:"Issuer URL of the OpenID Connect provider, exactly as it spells it."`
	ClientID         string   `name:"client-id" placeholder:"ID" help:"Client ID at the provider. Its secret is in AHPHUB_OIDC_CLIENT_SECRET or a file."`
	ClientSecretFile string   `name:"client-secret-file" placeholder:"FILE" help:"File with the client secret. Without a secret, only PKCE is used."`
	Allow            []string `placeholder:"RULE" help:"Who can sign in, with which role: email:ana@example.com=owner, domain:example.com=commenter, group:devs=driver+prompt+approve, anyone=member. The first match applies."`
	Name             string   `placeholder:"NAME" help:"Provider name on the sign-in button. Default: the provider's host name."`
	Scope            []string `placeholder:"SCOPE" help:"Additional scopes to request, as in groups."`
	GroupsClaim      string   `name:"groups-claim" default:"groups" placeholder:"NAME" help:"Claim that holds a person's groups. Default: ${default}."`
}

// check parses the rules; bad receives every wrong value.
func (c oidcConfig) check(bad func(name string, value any, allowed string)) (rules []people.Rule) {
	if c.Issuer == "" {
		if c.ClientID != "" || len(c.Allow) > 0 {
			bad("oidc-issuer", "", "name the provider, as in https://id.example.com")
		}
		return nil
	}
	if _, err := people.NewOIDC(people.OIDCConfig{Issuer: c.Issuer, ClientID: cmp.Or(c.ClientID, "x")}); err != nil {
		bad("oidc-issuer", c.Issuer, err.Error())
	}
	if c.ClientID == "" {
		bad("oidc-client-id", "", "use the client ID that the provider gave this server")
	}
	if _, err := c.secret(); err != nil {
		bad("oidc-client-secret-file", c.ClientSecretFile, err.Error())
	}
	if len(c.Allow) == 0 {
		bad("oidc-allow", "", "say who can sign in, as in domain:example.com=commenter. By default no one can")
	}
	for _, text := range c.Allow {
		rule, err := people.ParseRule(text)
		if err == nil {
			_, err = web.ParseGrant(rule.Role)
		}
		if err != nil {
			bad("oidc-allow", text, err.Error())
		}
		rules = append(rules, rule)
	}
	return rules
}

// secret returns the host's secret for the provider. It is not a flag, because all users of a
// machine can read those.
func (c oidcConfig) secret() (string, error) {
	if c.ClientSecretFile == "" {
		return os.Getenv(secretVariable), nil
	}
	if os.Getenv(secretVariable) != "" {
		return "", errors.New("the secret is also set in " + secretVariable + ". Remove one of them")
	}
	if err := web.CheckSecretFile(c.ClientSecretFile); err != nil {
		return "", err
	}
	f, err := os.Open(c.ClientSecretFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if secret := strings.TrimSpace(string(b)); secret != "" || err != nil {
		return secret, err
	}
	return "", errors.New("the file is empty")
}

// provider returns the sign-in provider; nil without an issuer.
func (c oidcConfig) provider(store people.Store, rules []people.Rule, log *slog.Logger) (*web.Provider, error) {
	if c.Issuer == "" {
		return nil, nil
	}
	secret, err := c.secret()
	if err != nil {
		return nil, err
	}
	client, err := people.NewOIDC(people.OIDCConfig{Issuer: c.Issuer, ClientID: c.ClientID, Secret: secret,
		Scopes: c.Scope, GroupsClaim: c.GroupsClaim, Log: log})
	if err != nil {
		return nil, err
	}
	name := c.Name
	if u, err := url.Parse(c.Issuer); name == "" && err == nil {
		name = u.Hostname()
	}
	return &web.Provider{Name: name, OIDC: client, Identities: people.Identities{Store: store}, Rules: rules}, nil
}
