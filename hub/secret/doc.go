// Package secret keeps credentials for other systems encrypted at rest.
//
// Keys seal values with XChaCha20-Poly1305. A sealed value is a text:
//
//	ahs1.<key id>.<base64url, unpadded: nonce of 24 bytes, ciphertext, tag of 16 bytes>
//
// The key id is the first 8 bytes of SHA-256 over "ahphub secrets key 1\n" and the key, in hex. The
// associated data is the text "ahs1" and the value's kind, owner and name, each prefixed with its
// length as an unsigned varint. A value moved to another name, owner or kind does not open.
//
// A key file has one key per line, as 64 hexadecimal digits or 32 bytes in base64. The first one
// seals; the others only open older values. Empty lines and lines that begin with # are skipped.
//
// Store keeps the secrets that people name, and which sessions get them.
package secret
