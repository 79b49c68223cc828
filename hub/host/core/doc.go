// Package core is what the parts of the host stand on: steps of the timeline, loading of channels, the catalogue of
// sessions, lanes for effects, identities, errors, and the tables' types. It knows no part.
package core
