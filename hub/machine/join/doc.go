// Package join connects a machine and its hub, and authenticates both.
//
// The machine opens a WebSocket, and both speak TLS 1.3 over it with self-signed certificates. Each knows the other by
// its ed25519 key, and proves possession of its own key for this connection. So neither a proxy that terminates the
// outer TLS nor a certificate for another network can read or change anything. The machine learns the hub's key from
// the token it joins with; the hub learns the machine's key when the token is used.
//
// Each side then sends one message, 4 bytes with its length (big endian) and JSON: the machine a hello, the hub a
// welcome or a refusal. The caller defines everything after that.
package join
