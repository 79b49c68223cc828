package box

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/devcontainer"
)

// mostOutput bounds the stored output of a setup command.
const mostOutput = 16 << 10

// chooseImage chooses the image of a policy's container, by the settings in its directories and the policy's limits.
func chooseImage(p *sandbox.Policy) (info sandbox.ContainerInfo, said *devcontainer.Config, err error) {
	info.Image, said = p.Image, &devcontainer.Config{}
	for _, dir := range p.Write {
		found, err := devcontainer.Read(dir)
		if err != nil {
			info.Ignored = append(info.Ignored, err.Error())
			continue
		}
		if found == nil {
			continue
		}
		said, info.File, info.Ignored = found, found.File, append(info.Ignored, found.Ignored...)
		switch {
		case found.Image == "":
		case p.AllowsImage(found.Image):
			info.Image = found.Image
		default:
			info.Ignored = append(info.Ignored, fmt.Sprintf("image: %.255q isn't allowed. The owner can allow it: "+
				"--sandbox-images %.255s", found.Image, found.Image))
		}
		break
	}
	if info.Image == "" {
		err = fmt.Errorf("no image for its container: %s", strings.Join(append(info.Ignored,
			"the owner sets one for all repositories by --sandbox-image"), "; "))
	}
	for _, words := range said.Setup {
		info.Setup = append(info.Setup, sandbox.SetupStep{Command: commandOf(words), State: sandbox.SetupWaits})
	}
	return info, said, err
}

// commandOf formats a command for people.
func commandOf(words []string) string {
	if len(words) == 3 && words[0] == "/bin/sh" && words[1] == "-c" {
		return words[2]
	}
	return strings.Join(words, " ")
}

// variablesOf returns a repository's variables.
func variablesOf(said *devcontainer.Config) (env []string) {
	for _, name := range slices.Sorted(maps.Keys(said.Env)) {
		env = append(env, name+"="+said.Env[name])
	}
	return env
}

// infos holds the descriptions of sessions' containers.
type infos struct {
	mu  sync.Mutex
	all map[string]sandbox.ContainerInfo
}

func (i *infos) set(session string, change func(*sandbox.ContainerInfo)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.all == nil {
		i.all = map[string]sandbox.ContainerInfo{}
	}
	info := i.all[session]
	info.Setup = slices.Clone(info.Setup) // concurrent readers may have the old one
	change(&info)
	i.all[session] = info
}

func (i *infos) forget(session string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.all, session)
}

// Container describes a session's last container; ok is false if it had none since the hub started.
func (b *Boxes) Container(session string) (info sandbox.ContainerInfo, ok bool) {
	b.infos.mu.Lock()
	defer b.infos.mu.Unlock()
	info, ok = b.infos.all[session]
	return info, ok
}

// setUp runs the repository's commands in a new container, unless they have succeeded before: their effects persist in
// the session's home directory and working directories.
func (b *Boxes) setUp(p *sandbox.Policy, said *devcontainer.Config, dir string) {
	mark, session := filepath.Join(dir, "setup"), p.Session
	want := fmt.Sprintf("%q", said.Setup)
	if has, err := os.ReadFile(mark); len(said.Setup) == 0 || err == nil && string(has) == want {
		b.infos.set(session, func(i *sandbox.ContainerInfo) { i.Setup = nil })
		return
	}
	say := func(n int, state sandbox.SetupState, output string) {
		b.infos.set(session, func(i *sandbox.ContainerInfo) {
			if n < len(i.Setup) {
				i.Setup[n].State, i.Setup[n].Output = state, output
			}
		})
	}
	for n, words := range said.Setup {
		say(n, sandbox.SetupRuns, "")
		out := &tail{most: mostOutput}
		cmd := exec.Command(words[0], words[1:]...)
		if cmd.Err != nil { // it is looked up in the container
			cmd.Err, cmd.Path = nil, "/"+filepath.Base(words[0])
		}
		cmd.Dir, cmd.Stdout, cmd.Stderr = p.Write[0], out, out
		cmd.Env = []string{"HOME=" + b.cfg.Home, "PATH=/usr/bin:/bin", "CI=1"}
		err := b.Start(cmd, p)
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil {
			say(n, sandbox.SetupFailed, out.String()+"\n"+err.Error())
			b.cfg.Log.Warn("a repository's command to set up its container failed", "session", session,
				"command", words, "err", err, "output", lastLine(out.String()))
			return
		}
		say(n, sandbox.SetupDone, out.String())
		b.cfg.Log.Info("a repository's command has set up its container", "session", session, "command", words)
	}
	if err := os.WriteFile(mark, []byte(want), 0o600); err != nil {
		b.cfg.Log.Warn("the commands that set up a container will run again", "session", session, "err", err)
	}
}

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex
	most int
	buf  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.most; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
