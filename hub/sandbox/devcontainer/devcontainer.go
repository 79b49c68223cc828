// Package devcontainer reads a repository's container settings: the simple part of containers.dev's format, which is an
// image, variables, and a command that runs once. It lists the rest for people. A repository is not trusted: its
// settings change nothing outside of a container.
package devcontainer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Config is a repository's settings.
type Config struct {
	File    string            // of the file, relative to the repository's directory
	Image   string            // "": none
	Env     map[string]string // for every program
	Setup   [][]string        // commands that run once, in order, when the container is created
	Ignored []string          // settings that are not honoured, in words for people
}

// files are the paths of the format, in order of preference.
var files = []string{".devcontainer/devcontainer.json", ".devcontainer.json"}

// Bounds of a file.
const (
	mostBytes = 256 << 10
	mostVars  = 200
	mostSetup = 20
)

// understood are properties that are honoured, or that only concern editors.
var understood = []string{"$schema", "name", "image", "containerEnv", "remoteEnv", "postCreateCommand", "customizations",
	"workspaceFolder", "workspaceMount", "shutdownAction", "overrideCommand", "updateRemoteUserUID", "waitFor",
	"portsAttributes", "otherPortsAttributes", "forwardPorts", "hostRequirements"}

// instead says what to do instead of properties that are not honoured.
var instead = map[string]string{
	"build":             "build the image yourself, and name it by --sandbox-image",
	"dockerFile":        "build the image yourself, and name it by --sandbox-image",
	"dockerComposeFile": "a session has one container",
	"features":          "use an image that has them",
	"mounts":            "a container shows this session's directories alone; the owner can name more by --sandbox-read",
	"runArgs":           "ahphub decides how a container runs",
	"privileged":        "ahphub decides how a container runs",
	"capAdd":            "ahphub decides how a container runs",
	"securityOpt":       "ahphub decides how a container runs",
	"init":              "ahphub is the container's first process",
	"remoteUser":        "programs run as the user of ahphub",
	"containerUser":     "programs run as the user of ahphub",
	"initializeCommand": "nothing of a repository runs outside of its container",
	"appPort":           "ports of a container are not published",
}

// Read returns the settings of the repository in a directory, or nil. Links do not lead out of the directory.
func Read(dir string) (*Config, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, name := range files {
		raw, err := read(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c, err := parse(raw, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.File = name
		return c, nil
	}
	return nil, nil
}

func read(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(raw) > mostBytes {
		err = fmt.Errorf("it has more than %d KiB", mostBytes>>10)
	}
	return raw, err
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

// parse parses a file of the repository in dir.
func parse(raw []byte, dir string) (*Config, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(plain(raw), &all); err != nil {
		return nil, errors.New("it is no JSON object")
	}
	c := &Config{Env: map[string]string{}}
	if image, ok := all["image"]; ok && json.Unmarshal(image, &c.Image) != nil {
		return nil, errors.New("image is no text")
	}
	for _, property := range []string{"containerEnv", "remoteEnv"} {
		var env map[string]*string // null removes a variable
		if raw, ok := all[property]; ok && json.Unmarshal(raw, &env) != nil {
			return nil, fmt.Errorf("%s is no object of texts", property)
		}
		for _, name := range slices.Sorted(maps.Keys(env)) {
			c.setVariable(property, name, env[name], dir)
		}
	}
	if raw, ok := all["postCreateCommand"]; ok {
		if err := c.readSetup(raw, dir); err != nil {
			return nil, err
		}
	}
	for _, property := range slices.Sorted(maps.Keys(all)) {
		switch advice := instead[property]; {
		case slices.Contains(understood, property):
		case advice != "":
			c.ignore("%s isn't used: %s", property, advice)
		default:
			c.ignore("%.60s isn't used", property)
		}
	}
	return c, nil
}

func (c *Config) ignore(format string, args ...any) {
	c.Ignored = append(c.Ignored, fmt.Sprintf(format, args...))
}

// setVariable sets a variable for every program.
func (c *Config) setVariable(property, name string, value *string, dir string) {
	switch {
	case value == nil:
		return
	case !variableName.MatchString(name) || strings.ContainsRune(*value, 0) || name == "HOME":
		c.ignore("%s: %.60q cannot be set", property, name)
		return
	case len(c.Env) >= mostVars:
		c.ignore("%s: there are more than %d variables", property, mostVars)
		return
	}
	text, unknown := expand(*value, dir)
	if len(unknown) > 0 {
		c.ignore("%s: %s isn't set, because it names %s", property, name, strings.Join(unknown, ", "))
		return
	}
	c.Env[name] = text
}

var reference = regexp.MustCompile(`\$\{[^}]*\}`)

// expand replaces references to the repository's directory, which has the same path in the container. It does not
// reveal ahphub's variables.
func expand(text, dir string) (expanded string, unknown []string) {
	return reference.ReplaceAllStringFunc(text, func(ref string) string {
		switch ref {
		case "${localWorkspaceFolder}", "${containerWorkspaceFolder}":
			return dir
		case "${localWorkspaceFolderBasename}", "${containerWorkspaceFolderBasename}":
			return filepath.Base(dir)
		}
		unknown = append(unknown, ref)
		return ref
	}), unknown
}

// readSetup parses a command: a shell line, a program with arguments, or an object of such commands.
func (c *Config) readSetup(raw json.RawMessage, dir string) error {
	var line string
	var words []string
	var several map[string]json.RawMessage
	switch {
	case json.Unmarshal(raw, &line) == nil:
		if line != "" {
			c.Setup = append(c.Setup, []string{"/bin/sh", "-c", line})
		}
	case json.Unmarshal(raw, &words) == nil:
		if len(words) > 0 {
			c.Setup = append(c.Setup, words)
		}
	case json.Unmarshal(raw, &several) == nil && len(several) <= mostSetup:
		for _, name := range slices.Sorted(maps.Keys(several)) {
			if err := c.readSetup(several[name], dir); err != nil {
				return err
			}
		}
	default:
		return errors.New("postCreateCommand is no command")
	}
	for _, words := range c.Setup {
		for i, word := range words {
			if strings.ContainsRune(word, 0) {
				return errors.New("postCreateCommand is no command")
			}
			if words[0] != "/bin/sh" || i < 2 { // the shell expands its own
				words[i], _ = expand(word, dir)
			}
		}
	}
	if len(c.Setup) > mostSetup {
		return fmt.Errorf("postCreateCommand has more than %d commands", mostSetup)
	}
	return nil
}

// plain removes comments and trailing commas, which the format allows in JSON.
func plain(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] == '"':
			end := i + 1
			for end < len(raw) && raw[end] != '"' {
				if raw[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(raw)-1)
			out = append(out, raw[i:end+1]...)
			i = end
		case raw[i] == '/' && i+1 < len(raw) && raw[i+1] == '/':
			for i < len(raw) && raw[i] != '\n' {
				i++
			}
			out = append(out, '\n')
		case raw[i] == '/' && i+1 < len(raw) && raw[i+1] == '*':
			for i += 2; i+1 < len(raw) && (raw[i] != '*' || raw[i+1] != '/'); i++ {
			}
			i++
			out = append(out, ' ')
		case raw[i] == '}' || raw[i] == ']':
			for end := len(out) - 1; end >= 0; end-- {
				if out[end] == ',' {
					out[end] = ' '
				}
				if out[end] != ' ' && out[end] != '\n' && out[end] != '\t' && out[end] != '\r' {
					break
				}
			}
			out = append(out, raw[i])
		default:
			out = append(out, raw[i])
		}
	}
	return out
}
