package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// The bare server stores nothing: it accepts WebSockets and, on request, writes the same frames to
// each of them as the host would. It is the baseline of fan-out, in a separate process and in the
// same run.
const bareEnv = "AHPHUB_BENCH_BARE"

func bareMain() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var s bareServer
	fmt.Println(ln.Addr().String())
	go func() { // the parent closes our standard input to stop us
		var b [1]byte
		_, _ = os.Stdin.Read(b[:])
		os.Exit(0)
	}()
	mux := http.NewServeMux()
	mux.HandleFunc("/ws", s.accept)
	mux.HandleFunc("/go", s.stream)
	mux.HandleFunc("/echo", echoActions)
	return http.Serve(ln, mux)
}

type bareServer struct {
	mu    sync.Mutex
	conns []chan []byte
}

func (s *bareServer) accept(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return
	}
	frames := make(chan []byte, 1024)
	s.mu.Lock()
	s.conns = append(s.conns, frames)
	s.mu.Unlock()
	for b := range frames {
		if c.Write(context.Background(), websocket.MessageText, b) != nil {
			return
		}
	}
	_ = c.Close(websocket.StatusNormalClosure, "")
}

// echoActions answers each dispatchAction frame with the envelope that a host would send.
func echoActions(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return
	}
	for seq := 1; ; seq++ {
		_, frame, err := c.Read(r.Context())
		if err != nil {
			return
		}
		var m struct {
			Params struct {
				Channel   string          `json:"channel"`
				ClientSeq int64           `json:"clientSeq"`
				Action    json.RawMessage `json:"action"`
			} `json:"params"`
		}
		if json.Unmarshal(frame, &m) != nil {
			return
		}
		b := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"action","params":{"channel":%q,"serverSeq":%d,"origin":{"clientId":"actions","clientSeq":%d},"action":%s}}`,
			m.Params.Channel, seq, m.Params.ClientSeq, m.Params.Action)
		if c.Write(r.Context(), websocket.MessageText, b) != nil {
			return
		}
	}
}

// stream writes ?n= frames with ?unit= bytes of text, then the end marker.
func (s *bareServer) stream(w http.ResponseWriter, r *http.Request) {
	var clients, n, unit int
	_, _ = fmt.Sscan(r.URL.Query().Get("clients"), &clients)
	_, _ = fmt.Sscan(r.URL.Query().Get("n"), &n)
	_, _ = fmt.Sscan(r.URL.Query().Get("unit"), &unit)
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.conns) < clients { // a client may be connected before accept has recorded it
		s.mu.Unlock()
		time.Sleep(time.Millisecond)
		s.mu.Lock()
	}
	for i := range n {
		s.all([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat:/0199c3f2-4f3e-7c55-b3de-0242ac120002","serverSeq":%d,"action":{"type":"chat/delta","turnId":"0199c3f2-4f3e-7c55-b3de-0242ac120003","partId":"p1","content":"%s"}}}`, i, text(unit))))
	}
	s.all([]byte(`{"end":"` + endMarker + `"}`))
	for _, c := range s.conns {
		close(c)
	}
	s.conns = nil
}

func (s *bareServer) all(b []byte) {
	for _, c := range s.conns {
		c <- b
	}
}

const endMarker = "chat/turnComplete"

func text(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'x'
	}
	return b
}
