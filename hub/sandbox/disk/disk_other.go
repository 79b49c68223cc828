//go:build !linux

package disk

// Free returns 0: nothing is bounded on this system.
func Free(string) int64 { return 0 }

// Spare returns 0: nothing is paused on this system.
func Spare(string) int64 { return 0 }
