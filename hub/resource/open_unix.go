//go:build unix

package resource

import "syscall"

const nonBlocking = syscall.O_NONBLOCK
