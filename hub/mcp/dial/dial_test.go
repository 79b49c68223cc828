package dial

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub/machine"
)

func TestDigestMatchesDialedCommand(t *testing.T) {
	_, err := Dialer{}.Dial(t.Context(),
		machine.ServerSpec{Name: "x", Command: machine.ServerCommand{Argv: []string{"./run"}, Dir: t.TempDir()}})
	if err == nil || !strings.Contains(err.Error(), "cannot start its program ./run") {
		t.Errorf("a program that is not in the directory: %v", err)
	}
}

func TestHeadersGoOnlyToServer(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("Authorization")+r.Header.Get("X-Key"))
	}))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	client := &http.Client{Transport: headers{next: http.DefaultTransport, set: map[string]string{"X-Key": "k"},
		token: "t", server: first.URL, asked: &asked{}}}
	res, err := client.Get(first.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); len(body) > 0 {
		t.Errorf("another host was told %q", body)
	}
}
