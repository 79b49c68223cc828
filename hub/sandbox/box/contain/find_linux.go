package contain

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/ahphub/ahphub/hub/sandbox/box/enter"
)

// shells are interchangeable shells, by popularity.
var shells = []string{"bash", "zsh", "fish", "dash", "ash", "sh"}

// find returns the program of an order: at its path, or else by its name in PATH. The hub found the path outside, where
// it may differ. If the user's shell is missing in the image, another shell replaces it.
func (s *server) find(o enter.Order) (string, error) {
	if isProgram(o.Path) {
		return o.Path, s.checkScript(o.Path, o.Env)
	}
	name := o.Path[strings.LastIndexByte(o.Path, '/')+1:]
	names := []string{name}
	for _, shell := range shells {
		if shell == name {
			names = append(names, shells...)
		}
	}
	for _, name := range names {
		if path := lookUp(name, o.Env); path != "" {
			return path, s.checkScript(path, o.Env)
		}
	}
	return "", s.missing(name, "")
}

// missing returns an error for a missing program, with advice.
func (s *server) missing(name, forWhat string) error {
	return errors.New(name + " is not in the image " + s.image + forWhat + ". Use an image that has it, or show the " +
		"directory where it is to sandboxes (--sandbox-read)")
}

// explain returns why an existing program cannot run.
func (s *server) explain(err error) string {
	if errors.Is(err, syscall.ENOENT) {
		return "the image " + s.image + " lacks what it was linked for (its interpreter or C library). Use an image that " +
			"has it, such as one of Debian"
	}
	return err.Error()
}

// checkScript returns an error if the interpreter of a script is missing.
func (s *server) checkScript(path string, env []string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // it may be executable but unreadable
	}
	defer f.Close()
	buf := make([]byte, 256)
	n, _ := f.Read(buf)
	line, script := strings.CutPrefix(string(buf[:n]), "#!")
	if !script {
		return nil
	}
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	if !isProgram(words[0]) {
		return s.missing(words[0], ", and "+path+" needs it")
	}
	if strings.HasSuffix(words[0], "/env") && len(words) > 1 {
		name := words[1]
		if name == "-S" && len(words) > 2 {
			name = words[2]
		}
		if name[0] != '-' && !strings.Contains(name, "=") && lookUp(name, env) == "" {
			return s.missing(name, ", and "+path+" needs it")
		}
	}
	return nil
}

// lookUp returns the path of a program in the directories of PATH, or "".
func lookUp(name string, env []string) string {
	for i := len(env) - 1; i >= 0; i-- {
		list, ok := strings.CutPrefix(env[i], "PATH=")
		if !ok {
			continue
		}
		for _, dir := range strings.Split(list, ":") {
			if dir != "" && dir[0] == '/' && isProgram(dir+"/"+name) {
				return dir + "/" + name
			}
		}
		return ""
	}
	return ""
}

// isProgram reports whether a file is executable.
func isProgram(path string) bool {
	var stat syscall.Stat_t
	const runs = 1 // X_OK
	return syscall.Stat(path, &stat) == nil && stat.Mode&syscall.S_IFMT == syscall.S_IFREG &&
		syscall.Access(path, runs) == nil
}
