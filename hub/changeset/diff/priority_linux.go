package diff

import (
	"runtime"
	"syscall"
)

const niceness = 10

// lowerPriority runs the goroutine at the lowest priority until it ends, on a thread that ends with it.
func lowerPriority() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), niceness) // without, it is only less polite
}
