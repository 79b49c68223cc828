// Package wire checks what a host sends against the schema of the version the connection speaks, message by message.
// Package spec has the schemas.
package wire
