package contain

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"
)

// calls has the numbers of the system calls for user namespaces, with the kernel's id of their architecture.
type calls struct{ arch, clone, clone3, unshare, setns uint32 }

// filtered has the architectures of programs for each kind of computer, and its number of the system call seccomp.
var filtered = map[string]struct {
	seccomp uintptr
	calls   []calls
}{
	"amd64": {317, []calls{{0xC000003E, 56, 435, 272, 308}, {0x40000003, 120, 435, 310, 346}}},
	"arm64": {277, []calls{{0xC00000B7, 220, 435, 97, 268}, {0x40000028, 120, 435, 337, 375}}},
}

const (
	cloneNewuser = 0x10000000
	x32          = 0x40000000 // marks calls of the x32 ABI on amd64
	allow        = 0x7FFF0000
	kill         = 0x80000000
	fails        = 0x00050000 // returns the added errno
	setFilter    = 1
	allThreads   = 1
)

// closeNamespaces prevents this process and its descendants from creating user namespaces, in which they would have
// every capability. docker's own filter does that, but podman's does not.
func closeNamespaces() error {
	here, ok := filtered[runtime.GOARCH]
	if !ok {
		return errors.New("containers are not confined on this kind of computer (" + runtime.GOARCH + ")")
	}
	program := filter(here.calls)
	with := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := syscall.RawSyscall(here.seccomp, setFilter, allThreads,
		uintptr(unsafe.Pointer(&with))); errno != 0 {
		return errors.New("system calls cannot be filtered: " + errno.Error())
	}
	return nil
}

// filter returns the program that the kernel runs for each system call: on its number, architecture and first argument.
func filter(kinds []calls) []syscall.SockFilter {
	const (
		load    = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS
		equal   = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K
		hasBits = syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K
		and     = syscall.BPF_ALU | syscall.BPF_AND | syscall.BPF_K
		answer  = syscall.BPF_RET | syscall.BPF_K
		number  = 0
		arch    = 4
		first   = 16 // on the computers above, which are little-endian
	)
	step := func(code uint16, k uint32) syscall.SockFilter { return syscall.SockFilter{Code: code, K: k} }
	jump := func(code uint16, k uint32, yes, no uint8) syscall.SockFilter {
		return syscall.SockFilter{Code: code, K: k, Jt: yes, Jf: no}
	}
	var program []syscall.SockFilter
	for _, c := range kinds {
		program = append(program,
			step(load, arch), jump(equal, c.arch, 0, 11),
			step(load, number), step(and, ^uint32(x32)),
			jump(equal, c.clone3, 0, 1), step(answer, fails|uint32(syscall.ENOSYS)), // C libraries then use clone
			jump(equal, c.setns, 4, 0),
			jump(equal, c.clone, 1, 0), jump(equal, c.unshare, 0, 3),
			step(load, first), jump(hasBits, cloneNewuser, 0, 1),
			step(answer, fails|uint32(syscall.EPERM)),
			step(answer, allow))
	}
	return append(program, step(answer, kill)) // other architectures
}
