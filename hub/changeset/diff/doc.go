// Package diff compares two versions of a file for people who review: lines, words within changed lines and syntax
// classes. It reads and writes nothing, so templates may import it.
//
// Lines are compared as git does (with the indentation heuristic). The bytes of a line never
// change, so the rows of a whole file reproduce both sides exactly.
package diff
