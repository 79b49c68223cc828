package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/ahphub/ahphub/e2e"
	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	floodBytes = 100_000_000
	floodLine  = `yes 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567890123456 | head -c 100000000; echo E$((1+1))E`
	floodEnd   = "E2E"
)

// watcher is a viewer of a terminal that reads output immediately.
type watcher struct {
	ws    *websocket.Conn
	bare  bool
	bytes int64
	told  int64 // acknowledged bytes
	skips int   // number of restarted screens
	tail  []byte
}

func (w *watcher) say(b testing.TB, m map[string]any) {
	b.Helper()
	raw, err := json.Marshal(m)
	check(b, err)
	if w.bare {
		raw = []byte(m["i"].(string))
	}
	check(b, w.ws.Write(b.Context(), websocket.MessageText, raw))
}

// read reads one frame.
func (w *watcher) read(ctx context.Context) error {
	kind, raw, err := w.ws.Read(ctx)
	if err != nil {
		return err
	}
	if kind == websocket.MessageText {
		if bytes.Contains(raw, []byte("reset")) {
			w.skips++
		}
		return nil
	}
	w.bytes += int64(len(raw))
	w.tail = append(w.tail[max(0, len(w.tail)-4096):], raw...)
	if w.bare || w.bytes-w.told < 32<<10 {
		return nil
	}
	w.told = w.bytes
	return w.ws.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"a":%d}`, w.bytes))
}

// until reads until a text has arrived.
func (w *watcher) until(ctx context.Context, text string) error {
	for !bytes.Contains(w.tail, []byte(text)) {
		if err := w.read(ctx); err != nil {
			return fmt.Errorf("waiting for %q after %d bytes, %q: %w", text, w.bytes, w.tail[max(0, len(w.tail)-200):],
				err)
		}
	}
	w.tail = nil
	return nil
}

// shells opens watchers of one terminal of the program.
func (h *host) shells(b testing.TB) func() *watcher {
	b.Helper()
	c := h.browserLike(b)
	path := h.shell(b, c)
	return func() *watcher {
		ws, _, err := websocket.Dial(b.Context(), strings.Replace(h.URL, "http", "ws", 1)+path+"/stream",
			&websocket.DialOptions{HTTPClient: c, HTTPHeader: http.Header{"Origin": {h.URL}}})
		check(b, err)
		return opened(b, ws, false)
	}
}

// shell creates a terminal and returns the path of its page.
func (h *host) shell(b testing.TB, c *http.Client) string {
	b.Helper()
	p := h.peer(b, "driver")
	_, err := p.Initialize(b.Context())
	check(b, err)
	uri, chat := session(b, p)
	id := uuid.NewString()
	check(b, p.Call(b.Context(), "createTerminal", &ahp.CreateTerminalParams{
		Channel: "ahp-terminal:/" + id, Claim: ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: uri,
			Chat: chat}},
	}, nil))
	all := regexp.MustCompile(`href="(/s/[^/"]+)`).FindAllStringSubmatch(page(b, c, h.URL+"/"), -1)
	i := slices.IndexFunc(all, func(href []string) bool { return strings.Contains(page(b, c, h.URL+href[1]+"/t"), id) })
	if i < 0 {
		b.Fatalf("none of %q has the terminal", all)
	}
	return all[i][1] + "/t/" + id
}

func opened(b testing.TB, ws *websocket.Conn, bare bool) *watcher {
	ws.SetReadLimit(-1)
	b.Cleanup(func() { _ = ws.CloseNow() })
	return &watcher{ws: ws, bare: bare}
}

// browserLike signs in like a page's script; sockets need no time limit.
func (h *host) browserLike(b testing.TB) *http.Client {
	b.Helper()
	u, err := url.Parse(h.SignIn())
	check(b, err)
	jar, err := cookiejar.New(nil)
	check(b, err)
	c := &http.Client{Jar: jar}
	token := u.Fragment
	u.Fragment = ""
	res, err := c.PostForm(u.String(), url.Values{"token": {token}})
	check(b, err)
	check(b, res.Body.Close())
	return c
}

func page(b testing.TB, c *http.Client, address string) string {
	b.Helper()
	res, err := c.Get(address)
	check(b, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	check(b, err)
	return string(raw)
}

func bareShells(b testing.TB) func() *watcher {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), barePtyEnv+"=1")
	in, err := cmd.StdinPipe()
	check(b, err)
	out, err := cmd.StdoutPipe()
	check(b, err)
	check(b, cmd.Start())
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	var addr string
	_, err = fmt.Fscanln(out, &addr)
	check(b, err)
	return func() *watcher {
		ws, _, err := websocket.Dial(b.Context(), "ws://"+addr, nil)
		check(b, err)
		return opened(b, ws, true)
	}
}

// shellHost returns a program whose terminals run a plain, fast shell.
func shellHost(b testing.TB) *host {
	b.Helper()
	return &host{e2e.Start(b, e2e.Options{Args: []string{"--agent", "script", "--log-level", "warn"},
		Env: []string{"SHELL=/bin/sh"}})}
}

// flood prints 100 MB and returns how long the first of the watchers took to get all of it.
func flood(b testing.TB, all []*watcher) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	all[0].say(b, map[string]any{"i": floodLine + "\r"})
	begun := time.Now()
	took := make([]time.Duration, len(all))
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, w := range all {
		wg.Go(func() {
			errs[i] = w.until(ctx, floodEnd)
			took[i] = time.Since(begun)
		})
	}
	wg.Wait()
	for _, err := range errs {
		check(b, err)
	}
	return slices.Min(took)
}

func seats(open func() *watcher, n int) (all []*watcher) {
	for range n {
		all = append(all, open())
	}
	return all
}

// floodRounds is how often 100 MB are sent alternately through the program and through the bare
// copy: other load on the machine affects both, and the median counts.
const floodRounds = 5

// BenchmarkTerminal sends 100 MB through a terminal to its viewers, alternating with a bare copy.
func BenchmarkTerminal(b *testing.B) {
	for _, n := range []int{1, 10} {
		b.Run(fmt.Sprint("viewers=", n), func(b *testing.B) {
			for b.Loop() {
				h := shellHost(b)
				all, plain := seats(h.shells(b), n), seats(bareShells(b), n)
				rss, cpu := h.rss(b), h.cpu(b)
				var speed, bare []float64
				for range floodRounds {
					begin, screens := most(all), all[0].skips
					took := flood(b, all)
					got := most(all) - begin
					if n == 1 && got < floodBytes && all[0].skips == screens {
						b.Fatalf("%d bytes came of %d", got, floodBytes)
					}
					speed = append(speed, float64(got)/1e6/took.Seconds())
					bare = append(bare, floodBytes/1e6/flood(b, plain).Seconds())
				}
				skips := 0
				for _, w := range all {
					skips += w.skips - 1
				}
				b.ReportMetric(middle(speed), "MB/s")
				b.ReportMetric(middle(bare), "bare-MB/s")
				b.ReportMetric(middle(speed)/middle(bare), "ratio")
				b.ReportMetric(float64((h.cpu(b)-cpu).Milliseconds())/(floodRounds*floodBytes/1e6), "cpu-ms/MB")
				b.ReportMetric(float64(h.rss(b)-rss)/(1<<20), "MiB-more")
				b.ReportMetric(float64(skips)/floodRounds, "skips")
				h.Stop()
			}
		})
	}
}

// most returns the bytes sent to the watcher who missed least.
func most(all []*watcher) (bytes int64) {
	for _, w := range all {
		bytes = max(bytes, w.bytes)
	}
	return bytes
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// cpu returns the program's processor time.
func (h *host) cpu(b testing.TB) time.Duration {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.Pid()))
	if err != nil {
		b.Skip("processor time is read from /proc, which is not here")
	}
	f := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond // ticks of a hundredth
}

// BenchmarkTerminalKeys measures echoes, idle and while another terminal floods its watcher; Ctrl-C
// during yes; and the time from connecting to the whole screen.
func BenchmarkTerminalKeys(b *testing.B) {
	for b.Loop() {
		h := shellHost(b)
		open := h.shells(b)
		w := open()
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
		defer cancel()
		w.say(b, map[string]any{"i": "echo r$((1+1))y\r"})
		check(b, w.until(ctx, "r2y"))
		report99(b, "echo", echoes(b, ctx, w, 300))
		busy := h.shells(b)()
		busy.say(b, map[string]any{"i": "yes 0123456789012345678901234567890123456789012345678901234567890\r"})
		flooding, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() {
			for busy.read(flooding) == nil {
			}
		})
		report99(b, "busy-echo", echoes(b, ctx, w, 300))
		stop()
		wg.Wait()
		w.say(b, map[string]any{"i": "\x15yes\r"})
		for w.bytes < 30<<20 {
			check(b, w.read(ctx))
		}
		begun := time.Now()
		w.say(b, map[string]any{"i": "\x03"})
		w.say(b, map[string]any{"i": "echo s$((1+1))p\r"})
		check(b, w.until(ctx, "s2p"))
		b.ReportMetric(float64(time.Since(begun).Microseconds())/1000, "ctrl-c-ms")
		begun = time.Now()
		again := open()
		check(b, again.until(ctx, "s2p"))
		b.ReportMetric(float64(time.Since(begun).Microseconds())/1000, "reconnect-ms")
		h.Stop()
	}
}

func echoes(b testing.TB, ctx context.Context, w *watcher, n int) (took []time.Duration) {
	b.Helper()
	for i := range n {
		begun := time.Now()
		key := string(rune('a' + i%26))
		w.say(b, map[string]any{"i": key})
		check(b, w.until(ctx, key))
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return took
}

func report99(b *testing.B, name string, took []time.Duration) {
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, name+"-p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, name+"-p99-ms")
}
