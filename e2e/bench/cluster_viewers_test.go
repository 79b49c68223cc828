package bench

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
)

// BenchmarkClusterViewers opens pages of one chat on three nodes, from one process, and changes the
// title once a second for ten seconds. It measures how long each page takes to get a change, and
// what the leader used, with 10,000 pages on all nodes, and with 4,000, 100 and 1 only on the
// followers.
func BenchmarkClusterViewers(b *testing.B) {
	for _, test := range []struct {
		name  string
		pages int
		far   bool // no pages on the leader
	}{{"10000", 10_000, false}, {"4000-far", 4000, true}, {"100-far", 100, true}, {"1-far", 1, true}} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				measureViewers(b, test.pages, test.far)
			}
		})
	}
}

var stamp = regexp.MustCompile(`\b\d{19}\b`)

func measureViewers(b *testing.B, pages int, far bool) {
	c, leads, follows := startNodes(b)
	driver := leads.peer(b, "driver")
	_, err := driver.Initialize(b.Context())
	check(b, err)
	uri, _ := session(b, driver)
	var nodes []*host
	for _, n := range c.Nodes {
		if n.URL != leads.URL || !far {
			nodes = append(nodes, &host{n})
		}
	}
	var mu sync.Mutex
	var ages []time.Duration
	ctx, end := context.WithCancel(b.Context())
	var open sync.WaitGroup
	take := func(frame []byte) {
		now := time.Now().UnixNano()
		if s := stamp.Find(frame); s != nil {
			n, _ := strconv.ParseInt(string(s), 10, 64)
			mu.Lock()
			defer mu.Unlock()
			ages = append(ages, time.Duration(now-n))
		}
	}
	owner := follows.signedIn(b)
	began := time.Now()
	const ofGuest, ofLink = 60, 480
	token := ""
	for i := 0; i < pages; i += ofGuest {
		if i%ofLink == 0 {
			token = guestLink(b, follows, owner, core.ShortID(uri))
		}
		at := nodes[i/ofGuest%len(nodes)]
		for _, stream := range at.enter(b, token, fmt.Sprint("Guest ", i), min(ofGuest, pages-i)) {
			open.Go(func() { readAll(ctx, stream, take) })
		}
	}
	b.Logf("%d pages were opened in %v", pages, time.Since(began))
	var before [3]time.Duration
	for i, h := range []*host{leads, follows} {
		before[i] = h.cpu(b)
	}
	mu.Lock()
	ages = nil
	mu.Unlock()
	const changes = 10
	for range changes {
		_, err := driver.Dispatch(b.Context(), uri, &ahp.SessionTitleChangedAction{Title: fmt.Sprint("at ", time.Now().UnixNano())})
		check(b, err)
		time.Sleep(time.Second)
	}
	for i, h := range []*host{leads, follows} {
		b.ReportMetric(float64((h.cpu(b)-before[i]).Milliseconds())/changes, []string{"leader", "follower"}[i]+"-ms/s")
		b.ReportMetric(float64(h.rss(b))/(1<<20), []string{"leader", "follower"}[i]+"-MB")
	}
	end()
	open.Wait()
	slices.Sort(ages)
	if len(ages) < pages*changes {
		b.Errorf("%d frames of %d came", len(ages), pages*changes)
	}
	b.ReportMetric(float64(ages[len(ages)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(ages[len(ages)*95/100].Microseconds())/1000, "p95-ms")
	for _, n := range c.Nodes {
		n.Stop()
	}
}

// guestLink creates a link for viewers of a session.
func guestLink(b *testing.B, h *host, owner *http.Client, short string) string {
	b.Helper()
	res, err := owner.PostForm(h.URL+"/s/"+short+"/share", url.Values{"role": {"viewer"}, "expires": {"24h"}})
	check(b, err)
	page := bodyOf(b, res)
	_, token, ok := strings.Cut(page, "/j#")
	if !ok {
		b.Fatalf("no link: %d %.500s", res.StatusCode, page)
	}
	return token[:strings.IndexAny(token, `"<& `)]
}

// enter joins by a link, and opens streams of the chat's page.
func (h *host) enter(b *testing.B, token, name string, n int) (streams []*websocket.Conn) {
	b.Helper()
	jar, err := cookiejar.New(nil)
	check(b, err)
	client := &http.Client{Jar: jar}
	res, err := client.PostForm(h.URL+"/j", url.Values{"token": {token}, "name": {name}})
	check(b, err)
	page := bodyOf(b, res)
	found := liveOf.FindStringSubmatch(page)
	if found == nil {
		b.Fatalf("%s is answered %d: %.500s", name, res.StatusCode, page)
	}
	for range n {
		c, _, err := websocket.Dial(b.Context(), h.URL+"/live?"+html.UnescapeString(found[1]), &websocket.DialOptions{
			HTTPClient: client, HTTPHeader: http.Header{"Origin": {h.URL}}})
		check(b, err)
		c.SetReadLimit(-1)
		streams = append(streams, c)
	}
	return streams
}

func bodyOf(b *testing.B, res *http.Response) string {
	b.Helper()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	check(b, err)
	return string(body)
}

func readAll(ctx context.Context, c *websocket.Conn, take func([]byte)) {
	defer c.CloseNow()
	for {
		_, frame, err := c.Read(ctx)
		if err != nil {
			return
		}
		take(frame)
	}
}
