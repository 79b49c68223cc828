package main

import (
	"context"
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

// visit looks at pages of all nodes.
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
		r := history.Read{Visitor: name, Node: n.name, Began: time.Now()}
		res, err := client.Get("http://" + n.web + "/")
		if err != nil {
			l.refused.Add(1)
			continue
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		r.Ended = time.Now()
		switch {
		case err != nil || res.StatusCode != http.StatusOK:
			l.refused.Add(1)
			continue
		}
		for _, m := range registerShown.FindAllSubmatch(body, -1) {
			v, _ := strconv.Atoi(string(m[1]))
			r.Value = max(r.Value, v)
		}
		if r.Value > 0 {
			l.Read(r)
		}
	}
	return nil
}

// signInAt signs a visitor in at a node, by a link that is made there.
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
