//go:build !linux

package disk

// Free is zero: nothing is bounded on this system.
func Free(string) int64 { return 0 }

// Spare is zero: nothing is paused on this system.
func Spare(string) int64 { return 0 }
