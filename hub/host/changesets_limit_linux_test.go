package host

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const inNamespace = "TEST_IN_USER_NAMESPACE" // the limit that is lowered there

// lowLimits are too low for any session.
var lowLimits = map[string]string{"max_inotify_watches": "3", "max_inotify_instances": "0"}

// TestTheKernelsWatchesRunOut lowers the kernel's limits in a user namespace, where allowed.
func TestTheKernelsWatchesRunOut(t *testing.T) {
	if limit := os.Getenv(inNamespace); limit != "" {
		c := newChangingWith(t, Config{PollFolders: time.Millisecond})
		setLimit(t, limit, lowLimits[limit])
		c.runsOut(strings.Replace(limit, "max_inotify", "max_user", 1), func() { setLimit(t, limit, "1000") })
		return
	}
	for limit := range lowLimits {
		t.Run(limit, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheKernelsWatchesRunOut$", "-test.v",
				"-test.timeout=60s")
			cmd.Env = append(os.Environ(), inNamespace+"="+limit)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
			out, err := cmd.CombinedOutput()
			switch {
			case err != nil && cmd.ProcessState == nil:
				t.Skipf("there are no user namespaces here: %v", err)
			case err != nil:
				t.Fatalf("%v\n%s", err, out)
			case strings.Contains(string(out), "--- SKIP"):
				t.Skipf("%s", out)
			}
		})
	}
}

// setLimit sets a limit for the processes of this namespace only.
func setLimit(t *testing.T, limit, to string) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/user/"+limit, []byte(to), 0); err != nil {
		t.Skipf("the limit cannot be lowered here: %v", err)
	}
}
