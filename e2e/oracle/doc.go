// Package oracle is a second reducer of the protocol's states, to compare with the one in hub/ahp.
// It was written only from the specification's text and its fixtures, and shares no code or types
// with the program: states and actions are maps as decoded by encoding/json. It is intentionally
// slow and simple. If both reducers agree, they are right or made the same mistake twice; if they
// differ, the text decides.
//
// It also has the rules of older versions, because their clients reduce by them.
package oracle
