//go:build !linux

package diff

// lowerPriority does nothing: threads have no priority of their own.
func lowerPriority() {}
