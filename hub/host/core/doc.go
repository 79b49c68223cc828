// Package core contains what all parts of the host use: steps of the timeline, loading of channels,
// the catalogue of sessions, lanes for effects, identities, errors, and the types of the tables. It
// imports no part.
package core
