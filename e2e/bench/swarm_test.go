package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/e2e"
)

// A swarm is n WebSocket clients in a separate process, so that their work does not count as the
// server's. It runs as this test binary with swarmEnv set: it connects, prints "ready", reads until
// every client has seen the end marker, and prints its counts as one line of JSON.
const swarmEnv = "AHPHUB_BENCH_SWARM"

type swarmSpec struct {
	URL, Token string
	Clients    int
	Channel    string // "" for a server without AHP
	Unit       int    // bytes of a message's text
	Match      string // in each frame that counts as one message; "": messages are counted by their text
	End        string // in the last frame's bytes
}

type swarmResult struct {
	Frames, Bytes, Units int64         // Units: messages, with merged ones counted separately
	Elapsed              time.Duration // from the first byte of the stream to the last client's end
	Missing              int64         // messages that did not arrive
}

func TestMain(m *testing.M) {
	if spec := os.Getenv(swarmEnv); spec != "" {
		if err := swarmMain(spec); err != nil {
			fmt.Fprintln(os.Stderr, "swarm:", err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(benchAgentEnv) != "" {
		benchAgent()
		return
	}
	if os.Getenv(bareEnv) != "" {
		if err := bareMain(); err != nil {
			fmt.Fprintln(os.Stderr, "bare server:", err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(barePtyEnv) != "" {
		if err := barePtyMain(); err != nil {
			fmt.Fprintln(os.Stderr, "bare terminal:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(e2e.Main(m))
}

func swarmMain(raw string) error {
	var spec swarmSpec
	if err := json.Unmarshal([]byte(raw), &spec); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	conns := make([]*websocket.Conn, spec.Clients)
	for i := range conns {
		c, err := dialSwarm(ctx, spec, i)
		if err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
		conns[i] = c
	}
	fmt.Println("ready")
	return readSwarm(ctx, spec, conns)
}

func dialSwarm(ctx context.Context, spec swarmSpec, i int) (*websocket.Conn, error) {
	opts := &websocket.DialOptions{HTTPHeader: http.Header{}}
	if spec.Token != "" {
		opts.HTTPHeader.Set("Authorization", "Bearer "+spec.Token)
	}
	c, _, err := websocket.Dial(ctx, spec.URL, opts)
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(32 << 20)
	if spec.Channel == "" {
		return c, nil
	}
	hello := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"swarm-%d","initialSubscriptions":[%q]}}`, i, spec.Channel)
	if err := c.Write(ctx, websocket.MessageText, []byte(hello)); err != nil {
		return nil, err
	}
	_, _, err = c.Read(ctx)
	return c, err
}

func readSwarm(ctx context.Context, spec swarmSpec, conns []*websocket.Conn) error {
	var mu sync.Mutex
	var total swarmResult
	var start, end time.Time
	var wg sync.WaitGroup
	errs := make(chan error, len(conns))
	for _, c := range conns {
		wg.Go(func() {
			frames, size, units, first, err := readOne(ctx, spec, c)
			if err != nil {
				errs <- err
				return
			}
			mu.Lock()
			defer mu.Unlock()
			total.Frames, total.Bytes, total.Units = total.Frames+frames, total.Bytes+size, total.Units+units
			if start.IsZero() || first.Before(start) {
				start = first
			}
			end = time.Now()
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	total.Elapsed = end.Sub(start)
	return json.NewEncoder(os.Stdout).Encode(total)
}

var contentKey = []byte(`"content":"`)

// readOne counts the stream's text without decoding frames: 'x' is its only letter.
func readOne(ctx context.Context, spec swarmSpec, c *websocket.Conn) (frames, size, units int64, first time.Time,
	err error) {
	text := 0
	for {
		_, b, err := c.Read(ctx)
		if err != nil {
			return 0, 0, 0, first, err
		}
		if first.IsZero() {
			first = time.Now()
		}
		frames++
		size += int64(len(b))
		if spec.Match != "" {
			if bytes.Contains(b, []byte(spec.Match)) {
				text += spec.Unit
			}
		} else if i := bytes.Index(b, contentKey); i >= 0 {
			text += bytes.IndexByte(b[i+len(contentKey):], '"')
		}
		if bytes.Contains(b, []byte(spec.End)) {
			return frames, size, int64(text / spec.Unit), first, nil
		}
	}
}

// swarm is the running process, as used by the benchmark.
type swarm struct {
	cmd *exec.Cmd
	out *bufio.Reader
	err bytes.Buffer
}

func startSwarm(b testing.TB, spec swarmSpec) *swarm {
	b.Helper()
	raw, _ := json.Marshal(spec)
	s := &swarm{cmd: exec.Command(os.Args[0], "-test.run=^$")}
	s.cmd.Env = append(os.Environ(), swarmEnv+"="+string(raw))
	s.cmd.Stderr = &s.err
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if line, _ := s.out.ReadString('\n'); line != "ready\n" {
		_ = s.cmd.Wait()
		b.Fatalf("swarm did not get ready: %q %s", line, s.err.String())
	}
	return s
}

func (s *swarm) result(b testing.TB, want int64) swarmResult {
	b.Helper()
	line, _ := s.out.ReadBytes('\n')
	if err := s.cmd.Wait(); err != nil {
		b.Fatalf("swarm: %v %s", err, s.err.String())
	}
	var r swarmResult
	if err := json.Unmarshal(line, &r); err != nil {
		b.Fatalf("swarm said %q: %v", line, err)
	}
	if r.Units != want {
		b.Fatalf("%d messages arrived, %d were sent: messages were lost", r.Units, want)
	}
	return r
}
