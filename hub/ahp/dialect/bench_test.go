package dialect

import "testing"

// BenchmarkTurnStarted measures the cost of a converted action, once for all clients of the oldest
// version.
func BenchmarkTurnStarted(b *testing.B) {
	d := of(b, "0.4.0")
	raw := []byte(`{"type":"chat/turnStarted","turnId":"turn-1","startedAt":"2026-01-02T03:04:05.000Z","message":{"text":"some words","origin":{"kind":"user"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := d.DownAction(Context{}, raw); !ok {
			b.Fatal("a turn is known to all")
		}
	}
}
