//go:build !linux

package e2e

import "testing"

// smallDisk skips the test: a small disk is mounted on Linux only.
func smallDisk(t *testing.T, _ int) string {
	t.Helper()
	t.Skip("a small disk is mounted for this test, which is done on Linux only")
	return ""
}
