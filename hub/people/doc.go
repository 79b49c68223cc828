// Package people keeps who is signed in: cookie sessions with a row on the server, and the
// audit of sign-ins and links. It knows accounts by their id; what they may do is a matter
// of package access.
package people
