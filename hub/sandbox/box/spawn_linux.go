package box

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// spawner starts programs from one thread that lives as long as this process. A program with a parent death signal is
// killed when the thread that started it ends, and Go may end threads at any time.
var spawner = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// spawn starts a program in its own process group that ends with this process.
func spawn(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	return startBound(cmd)
}

// startBound starts a program that ends with this process. cmd must have SysProcAttr.
func startBound(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error, 1)
	spawner() <- func() { done <- cmd.Start() }
	return <-done
}
