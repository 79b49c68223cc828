// Package people keeps who is signed in: cookie sessions with a row on the server, passwords,
// passkeys and OpenID Connect. It identifies accounts by id; package access decides what they may
// do.
package people
