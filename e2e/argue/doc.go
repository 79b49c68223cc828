// Package argue holds the program's reducers and adapters against what the protocol says of them: against the second
// reducer of e2e/oracle, and against properties that every version has, on states and actions that e2e/spec/draw makes
// from the schemas. It has tests alone.
package argue
