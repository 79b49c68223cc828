// Package disk measures the disk usage of directories while hostile programs change them.
package disk

// Use is the disk usage of directories.
type Use struct {
	Bytes   int64   // each entry counts for at least Entry
	Cut     string  // why it is incomplete; otherwise ""
	Largest []Place // the largest entries, in descending order
}

// Place is an entry of a measured directory, with everything below it.
type Place struct {
	Path  string
	Bytes int64
}

const (
	// Entry is the minimum size of a file, link or directory: a block of most file systems. It bounds many small files
	// like a few large ones, and so ends every bounded walk.
	Entry = 4 << 10

	mostPlaces  = 3
	mostEntries = 4 << 20
	mostPending = 1 << 16 // directories waiting to be listed
	mostLinked  = 1 << 18 // files with several hard links
	longestPath = 3800    // below a measured directory, of the kernel's 4096
	batch       = 256     // entries read at once
)
