package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/environ"
)

// Linux shows the environment that a program was started with in /proc/PID/environ, to all programs
// of its user, until it ends. ahphub runs such programs: terminals and agents. It therefore
// restarts itself in place, with the same process id and an environment of harmless variables, and
// reads the others from a pipe.

// handoverVariable passes the pipe's file descriptor to the restarted program.
const handoverVariable = "AHPHUB_HANDOVER"

// mostHandover is the largest capacity of a pipe without privileges.
const mostHandover = 1 << 20

// shown are variables that stay in the environment besides the usual ones: Go's runtime reads its
// own before the program begins, and shells set the others.
var shown = []string{"GODEBUG", "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GOTRACEBACK", "GORACE", "GOCOVERDIR", "PWD",
	"OLDPWD", "SHLVL", "_"}

// hideEnvironment returns once no other program can read ahphub's secrets in its environment. It
// restarts the program, and so returns only in a program without secrets in its environment.
func hideEnvironment() error {
	if taken, err := takeHandover(); taken || err != nil {
		return err
	}
	hidden := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return environ.Allows(name, shown)
	})
	program, err := os.Executable()
	if len(hidden) == 0 || err != nil { // without /proc the environment is not visible either
		return nil
	}
	pipe, err := fillPipe(strings.Join(hidden, "\x00"))
	if err != nil {
		return fmt.Errorf("cannot hide the environment from the programs that ahphub starts: %w", err)
	}
	env := append(environ.Inherit(shown), handoverVariable+"="+strconv.Itoa(pipe))
	if err = unix.Exec(program, os.Args, env); err != nil { // the executable was replaced a moment ago
		err = unix.Exec("/proc/self/exe", os.Args, env)
	}
	return fmt.Errorf("cannot restart ahphub to hide its environment from the programs it starts: %w", err)
}

// fillPipe returns the read end of a pipe that holds the text and stays open in the restarted
// program.
func fillPipe(text string) (int, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return 0, err
	}
	defer unix.Close(ends[1])
	_, _ = unix.FcntlInt(uintptr(ends[1]), unix.F_SETPIPE_SZ, max(len(text), 64<<10)) // if refused, the write fails
	written, err := unix.Write(ends[1], []byte(text))
	if err != nil || written < len(text) {
		return 0, fmt.Errorf("it has %d bytes, more than a pipe can hold (Linux allows %d). Unset large variables",
			len(text), mostHandover)
	}
	_, err = unix.FcntlInt(uintptr(ends[0]), unix.F_SETFD, 0)
	return ends[0], err
}

// takeHandover reads the variables from the pipe and sets them only for this process: variables
// set while a program runs are not visible to others. It reports whether there was a handover.
func takeHandover() (bool, error) {
	value, given := os.LookupEnv(handoverVariable)
	if !given {
		return false, nil
	}
	if err := os.Unsetenv(handoverVariable); err != nil {
		return false, err
	}
	fd, err := strconv.Atoi(value)
	var stat unix.Stat_t
	if err != nil || fd < 3 || unix.Fstat(fd, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return false, nil // set by someone else
	}
	pipe := os.NewFile(uintptr(fd), "handover")
	text, err := io.ReadAll(io.LimitReader(pipe, mostHandover+1))
	if err = errors.Join(err, pipe.Close()); err != nil {
		return false, fmt.Errorf("cannot read the environment from the pipe of %s: %w", handoverVariable, err)
	}
	for variable := range strings.SplitSeq(string(text), "\x00") {
		name, value, _ := strings.Cut(variable, "=")
		if _, set := os.LookupEnv(name); name != "" && !set {
			if err := os.Setenv(name, value); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}
