package diff

import (
	"runtime"
	"syscall"
)

const niceness = 10

// lowerPriority gives the goroutine the lowest priority until it ends, on a thread of its own.
func lowerPriority() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), niceness) // on failure, the priority just stays
}
