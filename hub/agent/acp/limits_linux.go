package acp

import "golang.org/x/sys/unix"

func noCore(pid int) error { return unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil) }

func limitProcesses(pid, n int) error {
	return unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: uint64(n), Max: uint64(n)}, nil)
}
