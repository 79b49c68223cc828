package changeset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/environ"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// run is one git program.
type run struct {
	of     source // whose slots it takes
	dir    string
	env    []string
	config []string // -c name=value …
	stdin  []byte
	args   []string

	acting   bool          // for a person's action: git does the same as in their terminal
	slotless bool          // takes no slot, so that a long run does not block others
	patience time.Duration // replaces the service's timeout

	box *sandbox.Policy // the box of an acting run; nil: none
}

// safety disables everything that would run a program chosen by the repository.
var safety = []string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c",
	"core.untrackedCache=false",
	"-c", "safe.directory=*", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.safecrlf=false",
	"-c", "core.quotePath=false", "-c", "submodule.recurse=false", "-c", "protocol.allow=never", "-c",
	"advice.addEmbeddedRepo=false",
	"-c", "log.mailmap=false"}

// keptEnv are git's variables for the location of configuration and the permitted transports.
// Others could redirect git.
var keptEnv = []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES",
	"GIT_EXEC_PATH",
	"GIT_ALLOW_PROTOCOL"}

// baseEnv returns the environment for reading: the empty GIT_ALLOW_PROTOCOL allows no transport,
// whatever a repository configures, so that nothing is fetched. It is not set for a person's own
// actions: their hooks push and their filters fetch as in their terminal, by their own settings.
func baseEnv(pass []string) []string {
	return append(plainEnv(pass), "GIT_ALLOW_PROTOCOL=", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_LITERAL_PATHSPECS=1", "LC_ALL=C")
}

// plainEnv returns the variables of the host that git, its hooks and its filters see. Of git's own
// it keeps only keptEnv, whatever pass lists.
func plainEnv(pass []string) []string {
	return slices.DeleteFunc(environ.Inherit(slices.Concat(keptEnv, pass)), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains(keptEnv, name)
	})
}

// actingConfig and actingEnv leave everything to the person's configuration except what needs a
// terminal: nothing prompts, no editor opens, and nothing is left running when git has ended.
var actingConfig = []string{"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "core.quotePath=false", "-c",
	"color.ui=false"}

func actingEnv(pass []string) []string {
	return append(plainEnv(pass), "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=:", "NO_COLOR=1", "TERM=dumb")
}

// git runs a program and returns its output, bounded in time and size. Cancelling a run ends its
// children too.
func (s *Service) git(ctx context.Context, r run) ([]byte, error) {
	if !r.slotless {
		release, err := s.slots.take(ctx, r.of.slotKey())
		if err != nil {
			return nil, err
		}
		defer release()
	}
	if s.starting != nil {
		s.starting()
	}
	patience := s.patience(ctx, r)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, &machine.SlowError{Dir: r.dir, Limit: patience})
	defer cancel()
	config, env, said := safety, baseEnv(s.cfg.Pass), 4<<10
	if r.acting {
		config, env, said = actingConfig, actingEnv(s.cfg.Pass), 16<<10
	}
	if r.box != nil { // the owner of the files does not matter: git's programs run in the box
		config = append(slices.Clip(config), "-c", "safe.directory=*")
	}
	cmd := exec.CommandContext(ctx, s.cfg.Git, slices.Concat(config, r.config, r.args)...)
	cmd.Dir, cmd.Env = r.dir, append(env, r.env...)
	cmd.WaitDelay = 5 * time.Second // on a busy computer, one second is not enough to read git's output
	ownGroup(cmd)
	stdout := &bounded{most: s.cfg.OutputBytes, full: cancel}
	stderr := &bounded{most: said}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if r.stdin != nil {
		cmd.Stdin = bytes.NewReader(r.stdin)
	}
	err := s.start(cmd, r)
	if err == nil {
		if !r.acting {
			yield(cmd.Process.Pid)
		}
		err = cmd.Wait()
	}
	switch {
	case stdout.cut:
		return nil, fmt.Errorf("git %s: %w: more than %d bytes of output", r.args[0], machine.ErrTooLarge,
			s.cfg.OutputBytes)
	case err != nil && ctx.Err() != nil:
		return nil, r.of.explain(context.Cause(ctx))
	case err != nil:
		return nil, &gitError{command: r.args[0], err: err, stderr: strings.TrimSpace(stderr.buf.String()),
			boxed: r.box != nil}
	}
	return stdout.buf.Bytes(), nil
}

type gitError struct {
	command, stderr string
	err             error
	boxed           bool // it ran in a sandbox
}

func (e *gitError) Error() string {
	if errors.Is(e.err, exec.ErrNotFound) {
		return "git is not installed. Install it to see what changed"
	}
	if e.stderr == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.message())
}

func (e *gitError) Unwrap() error { return e.err }

// hasExited reports whether git itself failed, rather than not running at all.
func hasExited(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit)
}

// bounded keeps the first bytes written to it. The buffer is not embedded: its ReadFrom would
// bypass Write.
type bounded struct {
	buf  bytes.Buffer
	most int
	full func() // called once there is more
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := max(b.most-b.buf.Len(), 0)
	if len(p) <= room {
		return b.buf.Write(p)
	}
	b.buf.Write(p[:room])
	if !b.cut && b.full != nil {
		b.full()
	}
	b.cut = true
	return len(p), nil
}

// fields splits git's output with -z.
func fields(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
