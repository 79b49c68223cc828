// Package join connects a machine and its hub, and proves to each who the other is.
//
// The machine opens a WebSocket, and the two speak TLS 1.3 over it with certificates that they sign themselves: each knows
// the other by its ed25519 key, and each proves that it has that key for this very connection. So neither a proxy that ends
// the outer TLS nor a certificate made for somebody else's network sees or changes anything. The machine learns the hub's
// key from the token it joins with; the hub learns the machine's key when the token is used.
//
// Over it each side says one message, 4 bytes with its length (big endian) and JSON: the machine a hello, the hub a welcome
// or why not. What follows belongs to the caller.
package join
