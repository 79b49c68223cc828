// Package disk measures what directories take on disk while hostile programs change them.
package disk

// Use is what directories take.
type Use struct {
	Bytes   int64   // each entry counts for at least Entry
	Cut     string  // why it is not all of it; "" when it is
	Largest []Place // what takes most, the largest first
}

// Place is an entry of a measured directory, with what is below it.
type Place struct {
	Path  string
	Bytes int64
}

const (
	// Entry is what a file, link or directory counts for at least: the block that most file systems give it. So many
	// small files are bounded as well as few large ones, and a walk that has a bound ends.
	Entry = 4 << 10

	mostPlaces  = 3
	mostEntries = 4 << 20
	mostPending = 1 << 16 // directories that wait for their turn
	mostLinked  = 1 << 18 // files with several names
	longestPath = 3800    // below a measured directory, of the kernel's 4096
	batch       = 256     // entries read at once
)
