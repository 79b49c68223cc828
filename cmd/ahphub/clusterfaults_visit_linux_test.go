package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/ahphub/ahphub/e2e/history"
	"github.com/ahphub/ahphub/hub/access"
)

var registerShown = regexp.MustCompile(`register (\d+)\.`)

func registerTitle(n int) string { return fmt.Sprintf("register %d.", n) }

// readRegister reads the register in a node's inbox; ok is false if the node did not answer or show
// it.
func readRegister(client *http.Client, visitor string, n *trialNode) (r history.Read, ok bool) {
	r = history.Read{Visitor: visitor, Node: n.name, Began: time.Now()}
	res, err := client.Get("http://" + n.web + "/")
	if err != nil {
		return r, false
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	r.Ended = time.Now()
	if err != nil || res.StatusCode != http.StatusOK {
		return r, false
	}
	for _, m := range registerShown.FindAllSubmatch(body, -1) {
		v, _ := strconv.Atoi(string(m[1]))
		r.Value = max(r.Value, v)
	}
	return r, r.Value > 0
}

// visit reads pages at all nodes.
func (l *trialLoad) visit(ctx context.Context, name string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client := &http.Client{Jar: jar, Timeout: 15 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	defer client.CloseIdleConnections()
	for signedIn := false; ctx.Err() == nil; pause(ctx, 2*lookAround) {
		n := l.nodes.list[rand.IntN(len(l.nodes.list))]
		if !signedIn {
			signedIn = signInAt(client, n)
			continue
		}
		if r, ok := readRegister(client, name, n); ok {
			l.Read(r)
		} else {
			l.refused.Add(1)
		}
	}
	return nil
}

// signInAt signs a visitor in at a node, with a link created there.
func signInAt(client *http.Client, n *trialNode) bool {
	if _, err := os.Stat(n.data); err != nil {
		return false
	}
	token, err := access.SignIn{Dir: signInDir(n.data)}.New()
	if err != nil {
		return false
	}
	res, err := client.PostForm("http://"+n.web+"/signin", url.Values{"token": {token}})
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusSeeOther
}

func pause(ctx context.Context, most time.Duration) {
	select {
	case <-time.After(rand.N(most)):
	case <-ctx.Done():
	}
}
