package e2e

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of a few megabytes for a test; only root may.
func smallDisk(t *testing.T, bytes int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if os.Getuid() != 0 {
		t.Skip("a small disk is mounted for this test, which only root may do")
	}
	if err := syscall.Mount("ahphub-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		t.Skipf("a small disk cannot be mounted for this test: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
	return dir
}
