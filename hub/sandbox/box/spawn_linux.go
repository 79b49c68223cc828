package box

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// spawner starts programs from one thread that lives as long as this process. A program that is to be killed when its
// parent is gone is killed when the thread is gone that started it, and Go ends threads at its will.
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

// spawn starts a program in a process group of its own that ends with this process.
func spawn(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	return startBound(cmd)
}

// startBound starts a program that ends with this process. cmd has its attributes.
func startBound(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error, 1)
	spawner() <- func() { done <- cmd.Start() }
	return <-done
}
