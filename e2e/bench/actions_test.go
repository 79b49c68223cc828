package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// actionKind is an action that BenchmarkActions sends repeatedly, each time with new content.
type actionKind struct {
	name   string
	action func(i int) string
}

// Both actions change the session and its summary; only the first is audited.
var (
	auditedAction = actionKind{"audited", func(i int) string {
		return fmt.Sprintf(`{"type":"session/titleChanged","title":"title %d"}`, i)
	}}
	plainAction = actionKind{"plain", func(i int) string {
		return fmt.Sprintf(`{"type":"session/isReadChanged","isRead":%t}`, i%2 == 0)
	}}
)

// BenchmarkActions measures one client's actions over the real endpoint and store: an audited one,
// one that is not audited, and the same frames to a server that stores nothing, in one run, with 64
// and with one in flight.
func BenchmarkActions(b *testing.B) {
	for _, flight := range []int{64, 1} {
		b.Run(fmt.Sprint("inflight=", flight), func(b *testing.B) {
			n := 20_000
			if flight == 1 {
				n = 2_000
			}
			for b.Loop() {
				audited := hostActions(b, auditedAction, n, flight)
				plain := hostActions(b, plainAction, n, flight)
				bare := bareActions(b, auditedAction, n, flight)
				audited.report(b, "audited")
				plain.report(b, "plain")
				bare.report(b, "bare")
				b.ReportMetric(audited.perSecond()/plain.perSecond(), "audited/plain")
				b.ReportMetric(audited.perSecond()/bare.perSecond(), "audited/bare")
			}
		})
	}
}

// actionTimes holds the time of each action from its frame to its echo, and of all together.
type actionTimes struct {
	took    []time.Duration
	elapsed time.Duration
	cpu     time.Duration // of the server
}

func (t *actionTimes) perSecond() float64 { return float64(len(t.took)) / t.elapsed.Seconds() }

func (t *actionTimes) report(b *testing.B, name string) {
	b.Helper()
	slices.Sort(t.took)
	b.ReportMetric(t.perSecond(), name+"-actions/s")
	b.ReportMetric(float64(t.took[len(t.took)/2].Microseconds()), name+"-p50-µs")
	b.ReportMetric(float64(t.took[len(t.took)*99/100].Microseconds()), name+"-p99-µs")
	if t.cpu > 0 {
		b.ReportMetric(float64(t.cpu.Microseconds())/float64(len(t.took)), name+"-cpu-µs")
	}
}

// hostActions sends n actions to the program, which starts with an empty directory.
func hostActions(b *testing.B, kind actionKind, n, flight int) *actionTimes {
	b.Helper()
	h := startHost(b, b.TempDir())
	defer h.Stop()
	return sendTo(b, h, h, kind, n, flight)
}

// sendTo sends n actions to at, whose hub is h's or its own, and measures h's processor time.
func sendTo(b *testing.B, h, at *host, kind actionKind, n, flight int) *actionTimes {
	b.Helper()
	driver := at.peer(b, "driver-"+at.URL)
	_, err := driver.Initialize(b.Context())
	check(b, err)
	uri, _ := session(b, driver)
	c := dialActions(b, at.AHP, at.Token())
	defer c.CloseNow()
	check(b, c.Write(b.Context(), websocket.MessageText,
		[]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
			`{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"actions","initialSubscriptions":[%q]}}`,
			uri))))
	_, _, err = c.Read(b.Context())
	check(b, err)
	sendActions(b, c, uri, kind, 200, flight, 0) // warm up
	before := h.cpu(b)
	times := sendActions(b, c, uri, kind, n, flight, 200)
	times.cpu = h.cpu(b) - before
	return times
}

func bareActions(b *testing.B, kind actionKind, n, flight int) *actionTimes {
	b.Helper()
	addr, stop := startBare(b)
	defer stop()
	c := dialActions(b, "ws://"+addr+"/echo", "")
	defer c.CloseNow()
	const uri = "ahp-session:/0199c3f2-4f3e-7c55-b3de-0242ac120002"
	sendActions(b, c, uri, kind, 200, flight, 0)
	return sendActions(b, c, uri, kind, n, flight, 200)
}

// startBare starts the server that stores nothing in a separate process.
func startBare(b testing.TB) (addr string, stop func()) {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), bareEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	check(b, err)
	out, err := cmd.StdoutPipe()
	check(b, err)
	check(b, cmd.Start())
	stop = func() { _ = in.Close(); _, _ = io.Copy(io.Discard, out); _ = cmd.Wait() }
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		stop()
		b.Fatal(err)
	}
	return addr, stop
}

func dialActions(b testing.TB, url, token string) *websocket.Conn {
	b.Helper()
	opts := &websocket.DialOptions{HTTPHeader: http.Header{}}
	if token != "" {
		opts.HTTPHeader.Set("Authorization", "Bearer "+token)
	}
	c, _, err := websocket.Dial(b.Context(), url, opts)
	check(b, err)
	c.SetReadLimit(32 << 20)
	return c
}

// sendActions keeps flight actions in flight until n are answered, in order. Their numbers start
// after first.
func sendActions(b *testing.B, c *websocket.Conn, channel string, kind actionKind, n, flight, first int) *actionTimes {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	slots := make(chan time.Time, flight)
	times := &actionTimes{took: make([]time.Duration, 0, n)}
	free := make(chan struct{}, flight)
	for range flight {
		free <- struct{}{}
	}
	start := time.Now()
	sent := make(chan error, 1)
	go func() {
		for i := range n {
			<-free
			frame := fmt.Sprintf(`{"jsonrpc":"2.0","method":"dispatchAction","params":{"channel":%q,"clientSeq":%d,"action":%s}}`,
				channel, first+i+1, kind.action(i))
			slots <- time.Now()
			if err := c.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i := 0; i < n; {
		_, frame, err := c.Read(ctx)
		check(b, err)
		seq := answeredSeq(frame)
		if seq == 0 {
			continue
		}
		if seq != first+i+1 || bytes.Contains(frame, []byte(`"rejectionReason"`)) {
			b.Fatalf("action %d is answered by %s", first+i+1, frame)
		}
		times.took = append(times.took, time.Since(<-slots))
		free <- struct{}{}
		i++
	}
	times.elapsed = time.Since(start)
	check(b, <-sent)
	return times
}

var seqKey = []byte(`"clientSeq":`)

// answeredSeq returns the clientSeq of an echo, 0 for other frames.
func answeredSeq(frame []byte) int {
	i := bytes.Index(frame, seqKey)
	if i < 0 {
		return 0
	}
	digits := frame[i+len(seqKey):]
	end := bytes.IndexAny(digits, ",}")
	seq, _ := strconv.Atoi(string(digits[:max(end, 0)]))
	return seq
}
