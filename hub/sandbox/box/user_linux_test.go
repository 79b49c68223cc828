package box

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user who owns nothing.
const nobody = 65534

// asNobody runs tests of this program as a user other than root, and returns their output.
func asNobody(t *testing.T, tests ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "nobody") // other users cannot enter the test's own directories
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "box.test")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	for _, err := range []error{os.Mkdir(home, 0o700), os.Chown(home, nobody, nobody), os.Chmod(dir, 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, "-test.v", "-test.run", "^("+strings.Join(tests, "|")+")$")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_RUNTIME_DIR=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody},
		Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

// copyProgram copies the test's own program to a place where every user can run it.
func copyProgram(to string) error {
	own, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer own.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, own); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Most hubs do not run as root. Their boxes need a user namespace without rights outside.
func TestNoWayLeadsOutForUserWhoIsNotRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the other tests are run by such a user")
	}
	t.Parallel()
	tests := []string{"TestNoWayLeadsOutOfBox", "TestLandlockLeavesOpenWhatItsTableAdmits",
		"TestProgramsInBoxWorkInTheirDirectories"}
	out := asNobody(t, tests...)
	for _, test := range tests {
		switch {
		case strings.Contains(out, "--- PASS: "+test+" "):
		case strings.Contains(out, "--- SKIP: "+test+" "):
			t.Logf("%s was skipped:\n%s", test, out)
		default:
			t.Errorf("%s did not run:\n%s", test, out)
		}
	}
}
