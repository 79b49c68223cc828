package e2e

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// sendForm posts a form and returns the resulting page and response.
func sendForm(t *testing.T, c *http.Client, address string, form url.Values) (page string, res *http.Response) {
	t.Helper()
	res, err := c.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 400 {
		t.Fatalf("POST %s: %s %v\n%.3000s", address, res.Status, err, b)
	}
	return string(b), res
}

func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	res, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// linkOver creates a session's link by the form, and returns its token.
func linkOver(t *testing.T, c *http.Client, prog *Program, short, role string) string {
	t.Helper()
	return shareBy(t, c, prog, short, url.Values{"role": {role}, "expires": {"24h"}})
}

// partLink creates a link for a part of a session, with all permissions of a driver.
func partLink(t *testing.T, c *http.Client, prog *Program, short, role, part string) string {
	t.Helper()
	form := url.Values{"role": {role}, "expires": {"24h"}, "part": {part}}
	if role == "driver" {
		form["prompt"], form["approve"], form["guests"], form["type"] = []string{"on"}, []string{"on"}, []string{"on"},
			[]string{"on"}
	}
	return shareBy(t, c, prog, short, form)
}

func shareBy(t *testing.T, c *http.Client, prog *Program, short string, form url.Values) string {
	t.Helper()
	page, _ := sendForm(t, c, prog.URL+"/s/"+short+"/share", form)
	_, token, ok := strings.Cut(page, "/j#")
	if !ok {
		t.Fatalf("no link was made:\n%s", page)
	}
	token, _, _ = strings.Cut(token, `"`)
	return token
}
