// Package join stands in outside for a program that a container's first process starts, and waits for it. Importing it
// is enough. It is separate from package contain, which imports strings and so is initialized later: join runs for each
// program.
package join
