package diff

import (
	"runtime"
	"syscall"
)

const niceness = 10

// lowerPriority has the goroutine run behind everything else until it ends, on a thread that ends with it.
func lowerPriority() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), niceness) // without, it is only less polite
}
