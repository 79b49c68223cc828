package enter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// Numbers of Linux that package syscall lacks. golang.org/x/sys would have them, and would be initialized later.
const (
	prSetPdeathsig     = 1
	prCapbsetDrop      = 24
	prSetNoNewPrivs    = 38
	prCapAmbient       = 47
	prCapAmbientClear  = 4
	capabilityVersion3 = 0x20080522
	keyctlJoinKeyring  = 1
	sysCloseRange      = 436 // on every architecture
	closeRangeOnExec   = 4
	mostOrder          = 16 << 20 // Linux allows less for arguments and variables
)

// init runs the command before the libraries of the rest of the program are initialized, which takes longer than all of
// this. It is the first package to be ready that has a part in it.
func init() {
	if len(os.Args) == 3 && os.Args[1] == Command {
		fmt.Fprintln(os.Stderr, "ahphub:", run(os.Args[2]))
		os.Exit(127) // as a shell whose command cannot run
	}
}

// run gives up every right that entering a box gave, and becomes the program that the order on a descriptor names. It
// returns only when it fails.
func run(descriptor string) error {
	fd, err := strconv.Atoi(descriptor)
	if err != nil || fd < 3 {
		return errors.New("this command is for ahphub itself")
	}
	o, err := readOrder(fd)
	if err != nil {
		return fmt.Errorf("cannot read what to run: %w", err)
	}
	runtime.LockOSThread() // rights are a thread's, and exec keeps those of the calling one
	if err := dropRights(); err != nil {
		return fmt.Errorf("cannot give up rights: %w", err)
	}
	if err := syscall.Chdir(o.Dir); err != nil {
		return fmt.Errorf("the directory %s is not in this session's sandbox: %w", o.Dir, err)
	}
	if err := call(sysCloseRange, uintptr(o.Keep), 1<<32-1, closeRangeOnExec); err != nil {
		return err
	}
	// The wrapper outside ignores these for itself; a handler of ours becomes the default with exec.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	// The process that waits outside is the only one that can be killed from there by its number.
	if err := call(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGKILL), 0); err != nil {
		return err
	}
	err = syscall.Exec(o.Path, o.Argv, o.Env)
	if errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("%s is not in this session's sandbox, or its interpreter is not. The owner can name "+
			"directories that sandboxes may read (--sandbox-read)", o.Path)
	}
	return fmt.Errorf("cannot run %s in this session's sandbox: %w", o.Path, err)
}

func readOrder(fd int) (o Order, err error) {
	f := os.NewFile(uintptr(fd), "order")
	if f == nil {
		return o, errors.New("there is none")
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, mostOrder))
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return o, err
	}
	if !filepath.IsAbs(o.Path) || len(o.Argv) == 0 || o.Keep < 3 {
		return o, errors.New("it is incomplete")
	}
	return o, nil
}

// dropRights takes from this thread what lets it change the box: entering a user namespace gave it every capability
// there. The session's keys of the hub stay behind as well.
func dropRights() error {
	if err := call(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0); err != nil {
		return err
	}
	for c := uintptr(0); ; c++ {
		err := call(syscall.SYS_PRCTL, prCapbsetDrop, c, 0)
		if errors.Is(err, syscall.EINVAL) && c > 0 {
			break // no capability has this number
		}
		if err != nil {
			return err
		}
	}
	if err := call(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClear, 0); err != nil {
		return err
	}
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityVersion3}
	var none [2]struct{ effective, permitted, inheritable uint32 }
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)),
		uintptr(unsafe.Pointer(&none)), 0); errno != 0 {
		return errno
	}
	// A kernel without keys has none to leave behind. With a name, however short, others could join as well.
	_ = call(syscall.SYS_KEYCTL, keyctlJoinKeyring, 0, 0)
	return nil
}

// call makes a system call whose further arguments are zero.
func call(number, a, b, c uintptr) error {
	if _, _, errno := syscall.RawSyscall6(number, a, b, c, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
