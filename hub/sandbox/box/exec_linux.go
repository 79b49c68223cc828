package box

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

	"golang.org/x/sys/unix"
)

// order is what ExecCommand runs.
type order struct {
	Path string
	Argv []string
	Env  []string
	Dir  string
	Keep int // descriptors below this are the program's
}

// mostOrder bounds an order: Linux allows less for arguments and variables.
const mostOrder = 16 << 20

// Exec is ExecCommand: in a box it gives up every right that entering the box gave, and becomes the program that the
// order on a descriptor names. It returns only when it fails.
func Exec(args []string) error {
	if len(args) != 1 {
		return errors.New("this command is for ahphub itself")
	}
	fd, err := strconv.Atoi(args[0])
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
	if err := unix.Chdir(o.Dir); err != nil {
		return fmt.Errorf("the directory %s is not in this session's sandbox: %w", o.Dir, err)
	}
	if err := unix.CloseRange(uint(o.Keep), ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	// The wrapper outside ignores these for itself; a handler of ours becomes the default with exec.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	// The process that waits outside is the only one that can be killed from there by its number.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	err = unix.Exec(o.Path, o.Argv, o.Env)
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s is not in this session's sandbox, or its interpreter is not. The owner can name "+
			"directories that sandboxes may read (--sandbox-read)", o.Path)
	}
	return fmt.Errorf("cannot run %s in this session's sandbox: %w", o.Path, err)
}

func readOrder(fd int) (o order, err error) {
	f := os.NewFile(uintptr(fd), "order")
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
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > 0 {
			break // no capability has this number
		}
		if err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	// A kernel without keys has none to leave behind. With a name, however short, others could join as well.
	_, _, _ = unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	return nil
}
