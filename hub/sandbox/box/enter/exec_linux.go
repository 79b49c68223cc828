package enter

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

// Linux constants that package syscall lacks. golang.org/x/sys has them, but is initialized later.
const (
	prSetPdeathsig     = 1
	prSetDumpable      = 4
	prCapbsetDrop      = 24
	prSetNoNewPrivs    = 38
	prCapAmbient       = 47
	prCapAmbientClear  = 4
	capabilityVersion3 = 0x20080522
	keyctlJoinKeyring  = 1
	sysCloseRange      = 436 // on every architecture
	closeRangeOnExec   = 4
	sigDefault         = 0
	sigIgnore          = 1
	sysRestrictSelf    = 446      // of Landlock, on every architecture
	mostOrder          = 16 << 20 // Linux allows less for arguments and variables
)

// init runs the commands before the other libraries of the program are initialized, which takes longer than the
// commands. Packages are initialized in the order of their paths, after their imports. This one imports neither fmt nor
// strings, os/signal, net or JSON, which are initialized late, so it comes before nearly all others.
func init() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == Command:
		Exit(run(os.Args[2]), 127) // like a shell whose command cannot run
	case len(os.Args) > 1 && os.Args[1] == HoldCommand:
		Exit(hold(os.Args[2:]), 1)
	}
}

// Exit ends the program: with status 0 if err is nil, otherwise with failed.
func Exit(err error, failed int) {
	if err == nil {
		os.Exit(0)
	}
	_, _ = os.Stderr.WriteString("ahphub: " + err.Error() + "\n")
	os.Exit(failed)
}

// run drops every right that entering a box gave, and becomes the program of the order on a file descriptor. It returns
// only if it fails.
func run(descriptor string) error {
	fd, err := strconv.Atoi(descriptor)
	if err != nil || fd < 3 {
		return errors.New("this command is for ahphub itself")
	}
	o, err := ReadOrder(fd)
	if err != nil {
		return errors.New("cannot read what to run: " + err.Error())
	}
	runtime.LockOSThread() // rights belong to a thread, and exec keeps those of the calling thread
	if err := dropRights(); err != nil {
		return errors.New("cannot give up rights: " + err.Error())
	}
	if o.Ruleset > 0 {
		if err := call(sysRestrictSelf, uintptr(o.Ruleset), 0, 0); err != nil {
			return errors.New("this session's sandbox could not be taken on by Landlock: " + err.Error())
		}
	}
	if err := syscall.Chdir(o.Dir); err != nil {
		return errors.New("the directory " + o.Dir + " is not in this session's sandbox: " + err.Error())
	}
	if err := call(sysCloseRange, uintptr(o.Keep), 1<<32-1, closeRangeOnExec); err != nil {
		return err
	}
	// The wrapper outside ignores these signals for itself.
	if err := handle(sigDefault, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM); err != nil {
		return err
	}
	// Only the waiting process outside can be killed from there by its process id.
	if err := call(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGKILL), 0); err != nil {
		return err
	}
	err = syscall.Exec(o.Path, o.Argv, o.Env)
	if errors.Is(err, syscall.ENOENT) || o.Ruleset > 0 && errors.Is(err, syscall.EACCES) {
		return errors.New(o.Path + " is not in this session's sandbox, or its interpreter is not. The owner can name " +
			"directories that sandboxes may read (--sandbox-read)")
	}
	return errors.New("cannot run " + o.Path + " in this session's sandbox: " + err.Error())
}

// ReadOrder reads the order on a file descriptor, and closes it.
func ReadOrder(fd int) (o Order, err error) {
	f := os.NewFile(uintptr(fd), "order")
	if f == nil {
		return o, errors.New("there is none")
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, mostOrder))
	if err != nil {
		return o, err
	}
	return parse(raw)
}

// dropRights removes from this thread the rights to change the box: entering a user namespace gave it every capability
// there. A user other than root has already lost them and cannot bound them: no program gives new ones. It also leaves
// the hub's session keyring.
func dropRights() error {
	if err := call(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0); err != nil {
		return err
	}
	for c := uintptr(0); ; c++ {
		err := call(syscall.SYS_PRCTL, prCapbsetDrop, c, 0)
		if errors.Is(err, syscall.EINVAL) && c > 0 || errors.Is(err, syscall.EPERM) {
			break // no such capability, or no right to bound them
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
	// A kernel without keyrings has none to leave. Others could join a keyring with a name, even a short one.
	_ = call(syscall.SYS_KEYCTL, keyctlJoinKeyring, 0, 0)
	return nil
}

// IgnoreEnd ignores the signals that end programs in terminals.
func IgnoreEnd() error {
	return handle(sigIgnore, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
}

// ResetSignal restores the default action of a signal.
func ResetSignal(s syscall.Signal) error { return handle(sigDefault, s) }

// Hide prevents programs of the same user from inspecting this one.
func Hide() error { return call(syscall.SYS_PRCTL, prSetDumpable, 0, 0) }

// handle sets signal actions without the runtime, as package os/signal is initialized later.
func handle(how uintptr, signals ...syscall.Signal) error {
	for _, s := range signals {
		action := [8]uintptr{how} // more than any architecture's
		set := uintptr(8)         // bytes of a signal set, except on MIPS
		if runtime.GOARCH[:2] == "mi" {
			action, set = [8]uintptr{0, how}, 16
		}
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0,
			set, 0, 0); errno != 0 {
			return errno
		}
	}
	return nil
}

// call makes a system call whose other arguments are zero.
func call(number, a, b, c uintptr) error {
	if _, _, errno := syscall.RawSyscall6(number, a, b, c, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
