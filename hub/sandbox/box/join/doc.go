// Package join waits outside of a container for a program that the container's first process starts, in its place. Importing
// it is enough. It is apart from package contain because that imports strings, and so is initialized later: this runs for
// each program.
package join
