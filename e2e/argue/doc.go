// Package argue compares the program's reducers and adapters with the second reducer of e2e/oracle,
// and with properties that hold in every version, on states and actions that e2e/spec/draw
// generates from the schemas. It only contains tests.
package argue
