package box

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/box/boxtest"
)

// workingEngine is the engine, found once.
var workingEngine struct {
	once   sync.Once
	engine engine
	err    error
}

// newContainers returns a world whose session runs in a container. It skips the test if containers do not work.
func newContainers(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	if len(engines()) == 0 {
		t.Skip("containers are not tried: ", errNoEngine)
	}
	image, err := boxtest.Image(engines()[0].path)
	if err != nil {
		t.Skip("containers are not tried: ", err)
	}
	w := newWorldOf(t, sandbox.Container, change...)
	w.policy.Image = image
	workingEngine.once.Do(func() {
		workingEngine.engine, workingEngine.err = w.findEngine(image)
	})
	if err := workingEngine.err; err != nil {
		t.Skip("containers do not work here: ", err)
	}
	w.engine = workingEngine.engine
	return w
}

func TestContainerHasWhatImageSets(t *testing.T) {
	t.Parallel()
	w := newContainers(t)
	if got := w.run("echo $IMAGE $PATH; pwd"); !strings.HasPrefix(got, "yes /opt/image/bin:/usr/bin:/bin:") ||
		!strings.HasSuffix(got, "\n"+w.dir) {
		t.Errorf("a program has the environment %q", got)
	}
	w.run("echo made >made")
	if w.read(w.dir+"/made") != "made\n" {
		t.Error("what a program writes is not in the session's directory")
	}
	for program, want := range map[string]string{"/usr/sbin/other": "other is not in the image", "/opt/none/zsh": ""} {
		cmd := exec.Command("/bin/true")
		cmd.Path, cmd.Args, cmd.Env, cmd.Dir = program, []string{program, "-c", "echo ran"}, []string{"PATH=/bin"}, w.dir
		out := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := w.Start(cmd, w.policy); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if want != "" && (cmd.ProcessState.ExitCode() != 127 || !strings.Contains(out.String(), want+" "+w.policy.Image)) ||
			want == "" && out.String() != "ran\n" {
			t.Errorf("%s: %v, %s", program, err, out)
		}
	}
	w.write(w.dir+"/agent", "#!/usr/bin/env node\n")
	if err := os.Chmod(w.dir+"/agent", 0o700); err != nil {
		t.Fatal(err)
	}
	cmd, out := w.shell("")
	cmd.Path = w.dir + "/agent"
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); !strings.Contains(out.String(), "node is not in the image") ||
		!strings.Contains(out.String(), w.dir+"/agent needs it") {
		t.Error("without the interpreter of a script it says ", out)
	}
}

func TestKilledProgramLeavesNothingInContainer(t *testing.T) {
	t.Parallel()
	w := newContainers(t)
	cmd, _ := w.shell("trap '' TERM; (sleep 1000 & exec sleep 1000) & echo ready; wait")
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(out) // until all programs that could write have ended
	if err := cmd.Wait(); err == nil {
		t.Error("a killed program ended as if nothing was")
	}
	if got := w.run("ps ax | grep -c '[s]leep' || :"); got != "0" {
		t.Error("programs that are left: ", got)
	}
}

func TestProgramEndedBySignalIsReportedSo(t *testing.T) {
	t.Parallel()
	w := newContainers(t)
	cmd, _ := w.shell("kill -USR1 $$")
	if err := w.Start(cmd, w.policy); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGUSR1 {
		t.Error(cmd.ProcessState)
	}
}

func TestReplacedDirectoryIsNotShownInContainer(t *testing.T) {
	t.Parallel()
	w := newContainers(t)
	made, err := w.enter(w.policy)
	if err != nil {
		t.Fatal(err)
	}
	l, err := planContainer(w.cfg, w.policy, filepath.Join(w.cfg.Dir, "s1"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	c := made.(*container)
	if err := c.verify(l.mounts); err != nil {
		t.Error("what was checked is refused: ", err)
	}
	other, err := os.Open(t.TempDir()) // as if a program had replaced it with a link before the engine opened it
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := c.verify([]mount{{from: other, at: w.dir}}); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Error("something else than was checked: ", err)
	}
}

func TestContainersLeftByEarlierRunAreRemoved(t *testing.T) {
	t.Parallel()
	w := newContainers(t)
	e := w.engine
	id, err := e.ask("create", "--pull=never", "--label", dataLabel+"="+w.cfg.label(), "--network=none",
		"--entrypoint=/bin/true", w.policy.Image)
	if err != nil {
		t.Fatal(err)
	}
	other, err := e.ask("create", "--pull=never", "--label", dataLabel+"=other", "--network=none",
		"--entrypoint=/bin/true", w.policy.Image)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = e.ask("rm", "--force", other) }()
	if err := e.removeLeft(w.cfg.label()); err != nil {
		t.Fatal(err)
	}
	list, err := e.ask("ps", "--all", "--quiet", "--no-trunc")
	if err != nil || strings.Contains(list, id) || !strings.Contains(list, other) {
		t.Errorf("left are %s, %v", list, err)
	}
}

func TestRepositoryChoosesAllowedImageAlone(t *testing.T) {
	t.Parallel()
	w := newContainers(t)
	image := w.policy.Image
	w.write(w.dir+"/.devcontainer.json", `{"image": "`+image+`", "containerEnv": {"IMAGE": "own", "PATH": "/bin"},
		"postCreateCommand": "echo set up; pwd >>$HOME/made", "runArgs": ["--privileged"]}`)
	w.policy.Image, w.policy.Images = "localhost/none:1", []string{"localhost/ahphub-test:*"}
	if got := w.run("until [ -s ~/made ]; do sleep 0.01; done; cat ~/made; echo $IMAGE $PATH"); got != w.dir+"\nown /bin" {
		t.Errorf("it prints %q", got)
	}
	info, _ := w.Container("s1")
	for len(info.Setup) == 1 && info.Setup[0].State == sandbox.SetupRuns {
		info, _ = w.Container("s1")
	}
	if info.Image != image || len(info.Setup) != 1 || info.Setup[0].State != sandbox.SetupDone ||
		info.Setup[0].Output != "set up\n" || !strings.Contains(strings.Join(info.Ignored, "\n"), "runArgs isn't used") {
		t.Errorf("%+v", info)
	}
	w.End("s1")
	if got := w.run("cat ~/made"); got != w.dir {
		t.Errorf("in the next container the command ran again: %q", got)
	}
	w.End("s1")
	w.policy.Images = nil
	if why := w.refused("true"); !strings.Contains(why, "localhost/none:1 is not on this computer") {
		t.Error(why)
	}
	w.policy.Image = ""
	if why := w.refused("true"); !strings.Contains(why, "--sandbox-image") {
		t.Error(why)
	}
}
