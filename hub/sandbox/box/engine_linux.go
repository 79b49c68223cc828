package box

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
)

// engine is a program that runs containers.
type engine struct {
	path     string
	runtime  string // its OCI runtime; "": the configured one
	isDocker bool
	rootless bool // root in a container is the user who runs the engine
}

// engines lists the container engines here, by preference: podman needs no service that runs as root. Older versions of
// crun do not support all layouts of control groups, but runc does.
func engines() (list []engine) {
	rootless := os.Getuid() != 0
	if path, err := exec.LookPath("podman"); err == nil {
		list = append(list, engine{path: path, rootless: rootless})
		if runc, err := exec.LookPath("runc"); err == nil {
			list = append(list, engine{path: path, runtime: runc, rootless: rootless})
		}
	}
	if path, err := exec.LookPath("docker"); err == nil {
		list = append(list, engine{path: path, isDocker: true})
	}
	return list
}

func (e engine) name() string {
	if e.isDocker {
		return "docker"
	}
	return "podman"
}

// askTime is the timeout of an engine's queries about images and containers.
const askTime = 30 * time.Second

// command returns a command of the engine. Its environment has the engine's variables, but no secrets of the hub.
func (e engine) command(args ...string) *exec.Cmd {
	if e.runtime != "" {
		args = append([]string{"--runtime", e.runtime}, args...)
	}
	cmd := exec.Command(e.path, args...)
	cmd.Dir, cmd.Env = "/", []string{}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "DBUS_SESSION_BUS_ADDRESS"}, name) ||
			strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "DOCKER_") || strings.HasPrefix(name, "CONTAINER") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	return cmd
}

// ask runs a command of the engine and returns its output.
func (e engine) ask(args ...string) (string, error) {
	cmd := e.command(args...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &capped{w: &out, left: 1 << 20}, &capped{w: &complaint, left: 4 << 10}
	cmd.WaitDelay = time.Second
	if err := spawn(cmd); err != nil {
		return "", err
	}
	stop := time.AfterFunc(askTime, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("%s says: %s", e.name(), orFail(lastLine(complaint.String()), err))
	}
	return strings.TrimSpace(out.String()), nil
}

func orFail(text string, err error) string {
	if text == "" {
		return err.Error()
	}
	return text
}

// environmentOf returns the variables that an image sets, or an error if the image is missing. It never fetches one:
// that takes minutes, and the owner chooses what runs here.
func (e engine) environmentOf(image string) (env []string, err error) {
	raw, err := e.ask("image", "inspect", "--format", "{{json .Config.Env}}", "--", image)
	if err != nil {
		return nil, fmt.Errorf("the image %s is not on this computer. Fetch it: %s pull %s (%w)", image, e.name(), image, err)
	}
	return env, json.Unmarshal([]byte(raw), &env)
}

// Labels that identify containers of a hub.
const (
	dataLabel    = "ahphub.data"
	sessionLabel = "ahphub.session"
)

// removeLeft removes containers of an earlier run of the hub, for example after a power failure.
func (e engine) removeLeft(data string) error {
	list, err := e.ask("ps", "--all", "--quiet", "--no-trunc", "--filter", "label="+dataLabel+"="+data)
	if err != nil || list == "" {
		return err
	}
	_, err = e.ask(append([]string{"rm", "--force", "--volumes"}, strings.Fields(list)...)...)
	return err
}

// mount is a file or directory that a container shows.
type mount struct {
	from *os.File
	at   string
	read bool // read-only
}

// runArgs returns the arguments with which an engine runs a container. The engine's defaults apply to everything else,
// such as its filter of system calls.
func (c *container) runArgs(mounts []mount, ports []string) ([]string, error) {
	args := []string{"run", "--detach", "--rm", "--pull=never", "--name", c.name,
		"--label", dataLabel + "=" + c.cfg.label(), "--label", sessionLabel + "=" + c.session,
		"--network=none", "--cap-drop=all", "--security-opt=no-new-privileges", "--security-opt=label=disable",
		"--read-only", "--cgroupns=private", "--ipc=private", "--hostname=sandbox", "--workdir=/", "--log-driver=none",
		"--shm-size=1g", "--no-healthcheck", "--entrypoint=" + inside}
	switch {
	case c.engine.isDocker && c.engine.rootless:
		args = append(args, "--user=0:0")
	default:
		args = append(args, fmt.Sprintf("--user=%d:%d", os.Getuid(), os.Getgid()))
	}
	switch {
	case c.engine.isDocker:
		args = append(args, c.boundArgs()...)
	case c.engine.rootless:
		args = append(args, "--userns=keep-id")
		fallthrough
	default:
		args = append(args, ulimitArgs()...)
		args = append(args, "--http-proxy=false", "--image-volume=ignore", "--read-only-tmpfs=false")
	}
	for _, m := range mounts {
		if strings.ContainsAny(m.at+m.from.Name(), "\",\n") {
			return nil, fmt.Errorf("%q cannot be shown in a container because of the characters in its name", m.at)
		}
		how := "type=bind,source=" + m.from.Name() + ",destination=" + m.at
		if m.read {
			how += ",readonly"
		}
		args = append(args, "--mount", how)
	}
	return slices.Concat(args, []string{"--", c.image, enter.ServeCommand, socketInside, c.image}, ports), nil
}

// ulimitArgs sets the limits of this process. podman would raise them, which not every process may do.
func ulimitArgs() (args []string) {
	raw, _ := os.ReadFile("/proc/sys/kernel/pid_max") // podman lowers its own limit to this
	most, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		most = 1 << 15
	}
	var files, processes unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		args = append(args, fmt.Sprintf("--ulimit=nofile=%d:%d", min(files.Max, 1<<20), min(files.Max, 1<<20)))
	}
	if unix.Getrlimit(unix.RLIMIT_NPROC, &processes) == nil {
		args = append(args, fmt.Sprintf("--ulimit=nproc=%d:%d", min(processes.Max, most), min(processes.Max, most)))
	}
	return args
}

// boundArgs returns the limits of a docker container, whose service creates its control group.
func (c *container) boundArgs() (args []string) {
	if l := c.cfg.Limits; l.Memory > 0 {
		args = append(args, "--memory="+strconv.FormatInt(l.Memory, 10), "--memory-swap="+strconv.FormatInt(l.Memory, 10))
	}
	if n := c.cfg.Limits.Processes; n > 0 {
		args = append(args, "--pids-limit="+strconv.Itoa(n))
	}
	return args
}

// errNoEngine says what containers need.
var errNoEngine = errors.New("neither podman nor docker is installed (Debian and Ubuntu: apt-get install podman)")

// findEngine returns the first engine that can run a container of an image. It removes containers of earlier runs of
// the hub.
func (b *Boxes) findEngine(image string) (engine, error) {
	b.finding.Lock()
	defer b.finding.Unlock()
	if b.engine.path != "" {
		return b.engine, nil
	}
	var fails []string
	for _, e := range engines() {
		err := b.tryEngine(&e, image)
		if err == nil {
			b.engine = e
			return e, nil
		}
		if !slices.Contains(fails, err.Error()) {
			fails = append(fails, err.Error())
		}
	}
	if len(fails) == 0 {
		return engine{}, errNoEngine
	}
	return engine{}, errors.New(strings.Join(fails, "; "))
}

// tryEngine runs a container of an image.
func (b *Boxes) tryEngine(e *engine, image string) error {
	if e.isDocker {
		options, err := e.ask("info", "--format", "{{json .SecurityOptions}}")
		if err != nil {
			return err
		}
		e.rootless = strings.Contains(options, "name=rootless")
	}
	if err := e.removeLeft(b.cfg.label()); err != nil {
		return err
	}
	dir := filepath.Join(b.cfg.Dir, probeSession)
	defer os.RemoveAll(dir)
	c, err := startContainer(context.Background(), b.cfg, *e, &sandbox.Policy{Session: probeSession,
		Mode: sandbox.Container, Image: image, Network: sandbox.Closed}, image, dir)
	if err == nil {
		c.end()
	}
	return err
}

// startContainer starts the container of a policy's session.
func (b *Boxes) startContainer(p *sandbox.Policy, dir string) (*container, error) {
	info, said, err := chooseImage(p)
	if err != nil {
		return nil, err
	}
	e, err := b.findEngine(cmp.Or(p.Image, info.Image))
	if err != nil {
		return nil, err
	}
	c, err := startContainer(context.Background(), b.cfg, e, p, info.Image, dir)
	if err != nil {
		return nil, err
	}
	c.own = variablesOf(said)
	if p.Session != probeSession {
		b.infos.set(p.Session, func(i *sandbox.ContainerInfo) { *i = info })
		for _, ignored := range info.Ignored {
			b.cfg.Log.Warn("something that a repository says of its container is not done", "session", p.Session,
				"file", info.File, "reason", ignored)
		}
		go b.setUp(p, said, dir) // waits until this container can be entered
	}
	return c, nil
}
