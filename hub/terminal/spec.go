package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub/environ"
)

// Defaults and bounds of a Spec.
const (
	DefaultCols       = 80
	DefaultRows       = 24
	MaxSize           = 1000 // columns or rows
	DefaultScrollback = 512 << 10
	DefaultGrace      = 2 * time.Second
	DefaultProcesses  = 1024
)

// Spec says what to run. Only Dir needs a value.
type Spec struct {
	Command    []string      // program and arguments; none is the person's shell, with shell integration where it is bash
	Shell      string        // one of Shells, where there is no Command; "" is the person's
	Dir        string        // an existing directory; "" is the hub's own
	Env        []string      // KEY=value, over the usual variables of the hub's environment
	Pass       []string      // names of more variables of the hub's environment, as environ.Allows takes them
	Cols, Rows int           // 1 to 1000; both zero is 80 by 24
	Title      string        // the title it is shown under until the program sets one
	Scrollback int           // bytes of content kept; zero is 512 KiB
	Grace      time.Duration // between SIGHUP, SIGTERM and SIGKILL; zero is 2 s
	Processes  int           // that may run in it at once, where they can be counted (Linux); zero is 1024
}

// CheckSize refuses sizes no terminal has: programs divide by them and
// allocate by them.
func CheckSize(cols, rows int) error {
	if cols < 1 || cols > MaxSize || rows < 1 || rows > MaxSize {
		return fmt.Errorf("a terminal of %d columns and %d rows cannot be had: both must lie between 1 and %d", cols, rows, MaxSize)
	}
	return nil
}

// complete checks the spec and fills in its defaults.
func (s Spec) complete() (Spec, error) {
	if s.Cols == 0 && s.Rows == 0 {
		s.Cols, s.Rows = DefaultCols, DefaultRows
	}
	if err := CheckSize(s.Cols, s.Rows); err != nil {
		return s, err
	}
	if s.Scrollback <= 0 {
		s.Scrollback = DefaultScrollback
	}
	if s.Grace <= 0 {
		s.Grace = DefaultGrace
	}
	if s.Processes <= 0 {
		s.Processes = DefaultProcesses
	}
	if s.Dir == "" {
		s.Dir, _ = os.Getwd()
	}
	if fi, err := os.Stat(s.Dir); err != nil || !fi.IsDir() {
		return s, fmt.Errorf("the terminal's directory %s does not exist", s.Dir)
	}
	return s, nil
}

// Shell is the shell of the person the hub runs as. A service's account has
// one that lets nobody in; it gets bash instead.
func Shell() string {
	for _, sh := range []string{os.Getenv("SHELL"), "/bin/bash", "/usr/bin/bash"} {
		if usable(sh) {
			return sh
		}
	}
	return "/bin/sh"
}

func usable(sh string) bool {
	switch filepath.Base(sh) {
	case "false", "true", "nologin":
		return false
	}
	fi, err := os.Stat(sh)
	return filepath.IsAbs(sh) && err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}

// environ returns what the program sees: the usual variables, those of Pass and Env, and what tells programs about this
// terminal.
func (s Spec) environ() []string {
	env := environ.Inherit(s.Pass)
	if !slices.ContainsFunc(env, isLocale) { // a service manager sets none, and programs would write ASCII
		env = append(env, "LC_CTYPE="+utf8Locale())
	}
	env = append(env, "TERM=xterm-256color", "COLORTERM=truecolor", "TERM_PROGRAM=ahphub", "PWD="+s.Dir)
	return append(env, s.Env...)
}

func isLocale(kv string) bool {
	name, value, _ := strings.Cut(kv, "=")
	return value != "" && (name == "LC_ALL" || name == "LC_CTYPE" || name == "LANG")
}

func utf8Locale() string {
	if runtime.GOOS == "darwin" {
		return "UTF-8"
	}
	return "C.UTF-8"
}
