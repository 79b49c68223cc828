// Package contain is the first process of a session's container, which starts the session's programs there. Importing it
// is enough. It uses little of the standard library, so that it runs before part of the program is initialized.
package contain
