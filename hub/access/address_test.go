package access

import (
	"net/url"
	"strings"
	"testing"
)

func TestLoggedAddressHidesPossibleTokens(t *testing.T) {
	const token = "dGhpcyBpcyBhIHRva2Vu_-x"
	for _, address := range []string{"/j/" + token, "/" + token, "/signin%23" + token, "/signin%23token=" + token,
		"/s/" + token + "/c/x",
		"/ahp?tkn=" + token, "/ahp?" + token, "/x?y=" + token, "/x?next=/s/abc", "/j;" + token, "/j%2f" + token +
			"%20"} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := LoggedAddress(u); strings.Contains(got, "VyBpcyBh") || strings.Contains(got, token[4:12]) ||
			!strings.ContainsAny(got, "…%") {
			t.Errorf("%s is logged as %s", address, got)
		}
	}
	for _, address := range []string{"/s/4e6bb2a859e2/c/019abcde-1234-7abc-8def-0123456789ab",
		"/people/members/person:8N2JqnetCw9t",
		"/s/4e6bb2a859e2/share/8N2JqnetCw9t/revoke", "/notifications/stream?after=12",
		"/s/4e6bb2a859e2/changes?scope=all"} {
		u, _ := url.Parse(address)
		if got := LoggedAddress(u); got != address {
			t.Errorf("%s is logged as %s", address, got)
		}
	}
}
