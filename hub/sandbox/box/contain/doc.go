// Package contain is what runs for programs of a session in a container: the container's first process, which starts
// them, and what waits for each of them outside, in its place. Importing it is enough. It uses little of the standard
// library, so that it runs before most packages of the program are initialized.
package contain
