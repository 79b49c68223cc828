package rpc

import (
	"context"
	"testing"

	"github.com/coder/websocket"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// panicking panics outside of a request's recovery.
type panicking struct{ noop.Tracer }

func (panicking) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	if name == "listSessions" {
		panic("in the reader")
	}
	return noop.Tracer{}.Start(ctx, name, opts...)
}

// A panic of the reader or the writer ends its socket: the client gets an error, other sockets
// continue, and nothing leaks.
func TestPanicEndsItsSocketAlone(t *testing.T) {
	w := newWorld(t, Config{Tracer: panicking{}}, hub.Config{})
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"channel":"ahp-root://","protocolVersions":["1.0.0"],"clientId":`
	other := w.dial("owner")
	other.send(hello + `"other"}}`)
	must(t, other.find(`{"jsonrpc":"2.0","id":0,"result":"*"}`))

	reader := w.dial("owner")
	reader.send(hello + `"reader"}}`)
	must(t, reader.find(`{"jsonrpc":"2.0","id":0,"result":"*"}`))
	reader.send(`{"jsonrpc":"2.0","id":1,"method":"listSessions","params":{"channel":"ahp-root://"}}`)
	if got := reader.closed(); got != websocket.StatusInternalError {
		t.Errorf("after a panic of the reader the socket ends with %d", got)
	}
	w.end.providers.find = func(ahp.URI) string { panic("in the writer") }
	writer := w.dial("owner at root")
	writer.send(hello + `"writer","initialSubscriptions":["ahp-session:/1"]}}`)
	if got := writer.closed(); got != websocket.StatusInternalError {
		t.Errorf("after a panic of the writer the socket ends with %d", got)
	}
	other.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	must(t, other.find(`{"jsonrpc":"2.0","id":1,"result":null}`))
	eventually(t, func() bool { return w.end.Sockets() == 1 })
}
