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
	"github.com/ahphub/ahphub/hub/machine"
)

// Defaults of a Spec.
const (
	DefaultScrollback = 512 << 10
	DefaultGrace      = 2 * time.Second
	DefaultProcesses  = 1024
)

// Spec says what to run.
type Spec = machine.TerminalSpec

// complete checks a spec and fills in its defaults.
func complete(s Spec) (Spec, error) {
	if s.Cols == 0 && s.Rows == 0 {
		s.Cols, s.Rows = machine.DefaultCols, machine.DefaultRows
	}
	if err := machine.CheckTerminalSize(s.Cols, s.Rows); err != nil {
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

// Shell returns the shell of the user that runs the hub. A service account, whose shell refuses to run, gets bash
// instead.
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

// environment returns the program's environment: the usual variables, those of Pass and Env, and those that describe
// this terminal.
func environment(s Spec) []string {
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
