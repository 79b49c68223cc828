//go:build !linux

package diff

// lowerPriority does nothing where threads have no priority of their own.
func lowerPriority() {}
