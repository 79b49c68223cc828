// Package texts makes texts fit where they are shown: on one line, within a number of bytes or characters.
package texts

import "strings"

// OneLine returns s on one line: without whitespace around it, and with one space for each run of whitespace in it.
// Bytes that are not UTF-8 become U+FFFD, as files and programs may hold any.
func OneLine(s string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
}
