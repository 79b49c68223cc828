package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/ahphub/ahphub/e2e/peer"
	"github.com/ahphub/ahphub/hub/ahp"
)

// Frames that are too large, too deep or too many are refused at the program's own limits: they
// cost little memory and do not affect others (AHP requirement 209).
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	prog := Start(t, Options{Args: []string{"--agent", "script"}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	witness, err := peer.Dial(ctx, prog.AHP, peer.Options{Token: prog.Token(), ClientID: "witness"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = witness.Close() })
	if _, err := witness.Initialize(ctx, ahp.RootURI); err != nil {
		t.Fatal(err)
	}
	before := peakOf(t, prog)
	const room = 15 << 20 // below the limit of a frame
	wide := func(member string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{` +
			strings.TrimSuffix(strings.Repeat(member, room/len(member)), ",") + `}}}`
	}
	for name, tc := range map[string]struct {
		frame string
		want  string // in the answer
	}{
		"deep": {strings.Repeat("[", room), `"code":-32600`},
		"deep params": {`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`, 200) + "1" +
			strings.Repeat("}", 200) + "}", `"code":-32600`},
		"wide": {wide(`"aaaa":0,`), `"code":-32600`},
		"many": {`[` + strings.Repeat("1,", room/2) + `1]`, `"code":-32600`},
		"a number": {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"channel":"ahp-root://","n":` +
			strings.Repeat("9", 1<<20) + `e999999999}}`, `"id":1`},
		"an id":    {`{"jsonrpc":"2.0","id":` + strings.Repeat("9", 1<<20) + `,"method":"ping"}`, `"code":-32600`},
		"a method": {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", room) + `"}`, `"code":-3260`},
		"no JSON":  {strings.Repeat("{", 100) + strings.Repeat(" ", room), `"code":-32700`},
	} {
		ws := rawOf(t, ctx, prog)
		if err := ws.Write(ctx, websocket.MessageText, []byte(tc.frame)); err != nil {
			t.Fatal(name, err)
		}
		_, got, err := ws.Read(ctx)
		if err != nil || !strings.Contains(string(got), tc.want) || len(got) > 100_000 {
			t.Errorf("%s is answered %.200s %v", name, got, err)
		}
		_ = ws.CloseNow()
		began := time.Now()
		if err := witness.Call(ctx, "ping", map[string]any{"channel": ahp.RootURI}, nil); err != nil {
			t.Fatalf("after %s the other client is told, in %v: %v", name, time.Since(began), err)
		}
	}
	ws := rawOf(t, ctx, prog)
	err = pour(ctx, ws, 100<<20)
	for err == nil {
		_, _, err = ws.Read(ctx)
	}
	if code := websocket.CloseStatus(err); code != websocket.StatusMessageTooBig && code >= 0 {
		t.Errorf("a frame of 100 MB ends with %v", err)
	}
	if err := witness.Call(ctx, "ping", map[string]any{"channel": ahp.RootURI}, nil); err != nil {
		t.Fatal(err)
	}
	if grown := peakOf(t, prog) - before; grown > 200<<20 {
		t.Errorf("it took %d MB", grown>>20)
	} else {
		t.Logf("the peak of memory grew by %d MB", grown>>20)
	}
}

// rawOf returns an initialized connection of the owner.
func rawOf(t *testing.T, ctx context.Context, prog *Program) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(ctx, prog.AHP,
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + prog.Token()}}})
	if err == nil {
		ws.SetReadLimit(-1)
		t.Cleanup(func() { _ = ws.CloseNow() })
		err = ws.Write(ctx, websocket.MessageText,
			[]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":"hostile"}}`))
	}
	if err == nil {
		_, _, err = ws.Read(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

// pour writes one frame in pieces.
func pour(ctx context.Context, ws *websocket.Conn, size int) error {
	w, err := ws.Writer(ctx, websocket.MessageText)
	if err != nil {
		return err
	}
	piece := bytes.Repeat([]byte("["), 64<<10)
	for sent := 0; sent < size; sent += len(piece) {
		if _, err := w.Write(piece); err != nil {
			return nil // the reader gets the reason
		}
	}
	return w.Close()
}

// peakOf returns the program's peak memory; 0 if unknown.
func peakOf(t *testing.T, prog *Program) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", prog.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kb := 0
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
