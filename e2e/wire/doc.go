// Package wire checks each message of a host against the schema of the connection's version.
// Package spec has the schemas.
package wire
