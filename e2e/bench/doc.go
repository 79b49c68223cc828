// Package bench measures the real program from outside: fan-out to many WebSockets with clients in
// another process, latency from an agent's delta to a client, resuming, snapshots under load,
// memory and startup. Run it with make bench; docs/performance.md has the figures and the method.
//
// A benchmark fails if a message is lost, never for being slow.
package bench
