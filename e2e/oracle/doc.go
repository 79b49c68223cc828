// Package oracle is a second reducer of the protocol's states, to argue with the one in hub/ahp. It was written from
// the specification's text and its fixtures alone, and shares no code or type with the program: states and actions are
// the maps that encoding/json makes. It is slow and plain on purpose. Where both reducers agree, they were wrong twice
// in the same way or they are right; where they differ, the text decides.
//
// The rules of older versions are here too, because a client of an older version reduces by them.
package oracle
