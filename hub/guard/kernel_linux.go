package guard

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// kernelKinds are file systems without user files: the kernel generates their content. devtmpfs calls itself tmpfs, so
// isClosed checks its path instead.
var kernelKinds = map[uint32]bool{
	0x00009fa0: true, // proc
	0x62656572: true, // sysfs
	0x00001cd1: true, // devpts
	0x0027e0eb: true, // cgroup
	0x63677270: true, // cgroup2
	0x64626720: true, // debugfs
	0x74726163: true, // tracefs
	0x73636673: true, // securityfs
	0xcafe4a11: true, // bpf
	0x62656570: true, // configfs
	0x6165676c: true, // pstore
	0xf97cff8c: true, // selinuxfs
	0x42494e4d: true, // binfmt_misc
	0xde5e81e4: true, // efivarfs
	0x6e736673: true, // nsfs
	0x65735543: true, // fusectl
	0x19800202: true, // mqueue
	0x50494446: true, // pidfs
}

func isKernelFile(f *os.File) bool {
	var s syscall.Statfs_t
	raw, err := f.SyscallConn()
	if err != nil {
		return true
	}
	if ctl := raw.Control(func(fd uintptr) { err = syscall.Fstatfs(int(fd), &s) }); ctl != nil || err != nil {
		return true
	}
	return kernelKinds[uint32(s.Type)]
}

func isKernelPath(path string) bool {
	var s syscall.Statfs_t
	err := syscall.Statfs(path, &s)
	return err == nil && kernelKinds[uint32(s.Type)]
}

// realPath returns the current path of an open file; without /proc, the path it was opened by.
func realPath(f *os.File, info fs.FileInfo) (string, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	var path string
	if err := raw.Control(func(fd uintptr) { path, _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)) }); err != nil {
		return "", err
	}
	if there, err := os.Lstat(path); err == nil && os.SameFile(info, there) {
		return path, nil
	}
	return pathOf(f, info)
}
