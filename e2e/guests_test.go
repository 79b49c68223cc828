package e2e

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	_ "modernc.org/sqlite"

	"github.com/ahphub/ahphub/hub/ahp"
)

var (
	guestsMany = flag.Int("guests", 100, "how many guests TestGuestsComeAndGo lets in")
	guestsFor  = flag.Duration("guests-for", 6*time.Second, "over how long they come")
)

// gauge returns a value of the program's metrics.
func (p *Program) gauge(name string) float64 {
	p.t.Helper()
	req, _ := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.URL+"/metrics", nil)
	req.Header.Set("Authorization", "Bearer "+p.Token())
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	var b strings.Builder
	if _, err := io.Copy(&b, res.Body); err != nil {
		p.t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(b.String())
	if m == nil {
		p.t.Fatalf("there is no %s in the metrics: %s", name, res.Status)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// guestVisit simulates one guest's visit: they join by a link, open the page and its stream, report
// their position, close it and sign out. hold keeps the page open meanwhile.
func guestVisit(ctx context.Context, prog *Program, token, name, session string,
	hold func(*websocket.Conn)) (joined time.Duration, err error) {
	jar, _ := cookiejar.New(nil)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := &http.Client{Jar: jar, Transport: transport, Timeout: 2 * patience}
	start := time.Now()
	res, err := c.PostForm(prog.URL+"/j", url.Values{"token": {token}, "name": {name}})
	if err != nil {
		return 0, err
	}
	query, err := liveOf(res)
	if err != nil {
		return 0, fmt.Errorf("%s is not let in: %w", name, err)
	}
	ws, err := dialLive(ctx, prog, c, query)
	if err != nil {
		return 0, err
	}
	joined = time.Since(start)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for err := error(nil); err == nil; {
			_, _, err = ws.Read(ctx)
		}
	}()
	err = ws.Write(ctx, websocket.MessageText, []byte(`{"t":"end","w":"message"}`))
	hold(ws)
	_ = ws.Close(websocket.StatusGoingAway, "")
	<-read
	if err != nil {
		return 0, err
	}
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, prog.URL+"/signout", nil)
	if err != nil {
		return 0, err
	}
	out.Header.Set("Origin", prog.URL)
	if res, err = c.Do(out); err != nil {
		return 0, err
	}
	return joined, res.Body.Close()
}

// liveOf returns the query of a page's stream.
func liveOf(res *http.Response) (string, error) {
	defer res.Body.Close()
	var b strings.Builder
	if _, err := io.Copy(&b, res.Body); err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(b.String(), `data-live="`)
	query, _, ok := strings.Cut(rest, `"`)
	if !ok || query == "" {
		return "", fmt.Errorf("%s, a page without a stream", res.Status)
	}
	return strings.ReplaceAll(query, "&amp;", "&"), nil
}

// Many guests' visits leave nothing behind: no goroutine, file, person or cookie, and only the rows
// that record who joined by which link, with their audit entries.
func TestGuestsComeAndGo(t *testing.T) {
	prog := Start(t, Options{Args: []string{"--agent", "script"}, Env: []string{"AHPHUB_LOG_LEVEL=warn"}})
	ctx, cancel := context.WithTimeout(t.Context(), *guestsFor+4*patience)
	defer cancel()
	owner := dial(t, ctx, prog, prog.Token())
	session := newOverProtocol(t, ctx, owner)
	c, _ := signIn(t, prog.SignIn())
	short := shortOf(t, c, prog, session)
	var tokens []string
	for len(tokens)*400 < *guestsMany+1 {
		tokens = append(tokens, linkOver(t, c, prog, short, "viewer"))
	}

	// One guest stays, so that what all guests share exists before and after.
	stay, stayed := make(chan struct{}), make(chan error, 1)
	inside := make(chan struct{})
	go func() {
		_, err := guestVisit(ctx, prog, tokens[0], "Ana", "/s/"+short, func(*websocket.Conn) { close(inside); <-stay })
		stayed <- err
	}()
	select {
	case <-inside:
	case err := <-stayed:
		t.Fatal(err)
	}
	settled := func(what string, most float64) float64 {
		t.Helper()
		var n float64
		waitUntil(t, what, func() error {
			if n = prog.gauge(what); n > most {
				return fmt.Errorf("it is %v afterwards, and was at most %v before", n, most)
			}
			return nil
		})
		return n
	}
	settled("ahphub_people_present", 1)
	c.CloseIdleConnections()
	goroutines, files := prog.gauge("go_goroutines"), prog.gauge("process_open_fds")

	var wg sync.WaitGroup
	var mu sync.Mutex
	var took []time.Duration
	every := time.NewTicker(*guestsFor / time.Duration(*guestsMany))
	defer every.Stop()
	for i := range *guestsMany {
		<-every.C
		wg.Go(func() {
			d, err := guestVisit(ctx, prog, tokens[i%len(tokens)], fmt.Sprintf("Guest %d", i), "/s/"+short,
				func(*websocket.Conn) {})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, d)
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	settled("ahphub_people_present", 1)
	t.Logf("goroutines: %v before, %v after; files: %v before, %v after", goroutines,
		settled("go_goroutines", goroutines+8), files, settled("process_open_fds", files+4))
	slices.Sort(took)
	t.Logf("%d guests in %v: from the link to a live page %v at p50, %v at p95", len(took), *guestsFor,
		took[len(took)/2], took[len(took)*95/100])

	close(stay)
	if err := <-stayed; err != nil {
		t.Error(err)
	}
	if err := owner.Call(ctx, "disposeSession", ahp.DisposeSessionParams{Channel: session}, nil); err != nil {
		t.Fatal(err)
	}
	prog.Stop()
	rows := rowsOf(t, ctx, prog.Data)
	if rows["cookie"] > 1 {
		t.Errorf("%d cookies are kept, of the owner alone there should be one", rows["cookie"])
	}
	if n := rows["link-use"]; n != *guestsMany+1 {
		t.Errorf("%d guests are listed with their links, want %d", n, *guestsMany+1)
	}
	for bucket, n := range rows {
		if n > *guestsMany/2 && !slices.Contains([]string{"link-use", "audit"}, bucket) {
			t.Errorf("%d rows of %s stay", n, bucket)
		}
	}
	t.Logf("rows kept: %v", rows)
}

// rowsOf counts the rows of a data directory by kind.
func rowsOf(t *testing.T, ctx context.Context, data string) map[string]int {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "ahphub.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list, err := db.QueryContext(ctx,
		`SELECT bucket, count(*) FROM docs GROUP BY bucket UNION SELECT 'envelopes', count(*) FROM envelopes UNION SELECT 'clients answered', count(*) FROM answers`)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	rows := map[string]int{}
	for list.Next() {
		var bucket string
		var n int
		if err := list.Scan(&bucket, &n); err != nil {
			t.Fatal(err)
		}
		rows[bucket] = n
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}
