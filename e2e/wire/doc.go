// Package wire checks what a host sends against the JSON Schema of the version the connection speaks, message by
// message. The published schemas lie beside the repository; what the releases since the last of them changed stands in
// schema/*.json, written from the protocol's own list of differences.
package wire
