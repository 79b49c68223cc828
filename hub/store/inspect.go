package store

import "path/filepath"

// Inspect reports whether this program can open the database of a data directory,
// without touching it; an absent one is fine.
func Inspect(dir string) error { return inspect(filepath.Join(dir, databaseName)) }
