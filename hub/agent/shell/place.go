package shell

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	mostEnv  = 64 << 10 // bytes exported by a chat's commands
	mostLeft = 4 << 20  // bytes read of an environment
)

// place is the context of a chat's next command: the effects of cd, export and unset in the
// preceding ones.
type place struct {
	Dir   string            `json:"dir,omitempty"` // "" is the session's first directory
	Set   map[string]string `json:"set,omitempty"`
	Unset []string          `json:"unset,omitempty"`
}

// keeper stores the place of one chat in the session's data directory, for one command. Without a
// directory it stores nothing.
type keeper struct {
	file string
	work string // below which run is
	run  string // where the command writes its environment at its start and end; "" when it is not read
}

func keeperOf(spec agent.Spec, chat ahp.URI) (keeper, error) {
	if spec.Data == "" {
		return keeper{}, nil
	}
	sum := sha256.Sum256([]byte(chat))
	k := keeper{file: filepath.Join(spec.Data, hex.EncodeToString(sum[:8])+".json"), work: cmp.Or(spec.Work, spec.Data)}
	var err error
	k.run, err = os.MkdirTemp(k.work, "run-")
	return k, err
}

func (k keeper) before() string { return filepath.Join(k.run, "before") }
func (k keeper) after() string  { return filepath.Join(k.run, "after") }

// close deletes the command's files, when it has ended or continues in the background.
func (k keeper) close() {
	if k.run != "" {
		_ = os.RemoveAll(k.run) // the session's removal deletes a leftover of a few KB
	}
}

// load reads the place. If that fails it is the session's directory: a lost cd must not prevent a
// command.
func (k keeper) load() (p place) {
	raw, err := os.ReadFile(k.file)
	if err != nil || json.Unmarshal(raw, &p) != nil {
		return place{}
	}
	return p
}

// learn stores the context in which a command ended. A command that was killed or replaced by
// another program (exec) writes nothing; then the place stays the same.
func (k keeper) learn(p place) error {
	before, err := k.readLeft(k.before())
	if err != nil {
		return nil
	}
	after, err := k.readLeft(k.after())
	if err != nil {
		return nil
	}
	tooMuch := p.take(before[1:], after)
	raw, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(k.file, raw, 0o600)
	}
	return errors.Join(tooMuch, err)
}

// take changes the place by the difference of two environments. The directory comes first in after.
func (p *place) take(before, after []string) error {
	p.Dir = after[0]
	old, now := variables(before), variables(after[1:])
	set := maps.Clone(p.Set)
	if set == nil {
		set = map[string]string{}
	}
	unset := slices.Clone(p.Unset)
	for name, value := range now {
		if had, ok := old[name]; !ok || had != value {
			set[name] = value
			unset = slices.DeleteFunc(unset, func(u string) bool { return u == name })
		}
	}
	for name := range old {
		if _, ok := now[name]; !ok {
			delete(set, name)
			unset = append(unset, name)
		}
	}
	slices.Sort(unset)
	unset = slices.Compact(unset)
	size := len(strings.Join(unset, " "))
	for name, value := range set {
		size += len(name) + len(value) + 2
	}
	if size > mostEnv {
		return fmt.Errorf("more than %d KB of variables were exported. The next command won't see them", mostEnv>>10)
	}
	p.Set, p.Unset = set, unset
	return nil
}

// own lists the variables a shell sets for itself; COLUMNS and the like belong to a terminal.
var own = []string{"PWD", "SHLVL", "_", "COLUMNS", "LINES", "TERM", "BASHPID"}

func variables(list []string) map[string]string {
	vars := make(map[string]string, len(list))
	for _, entry := range list {
		if name, value, ok := strings.Cut(entry, "="); ok && !slices.Contains(own, name) {
			vars[name] = value
		}
	}
	return vars
}

// readLeft reads an environment that the command wrote. The command may have replaced the file by
// anything: a link to what it cannot read itself, or a pipe.
func (k keeper) readLeft(name string) ([]string, error) {
	root, err := os.OpenRoot(k.work)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	rel, err := filepath.Rel(k.work, name)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	raw, err := io.ReadAll(io.LimitReader(f, mostLeft))
	if err != nil || len(raw) == 0 || len(raw) == mostLeft {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	parts := bytes.Split(bytes.TrimSuffix(raw, []byte{0}), []byte{0})
	out := make([]string, len(parts))
	for i, part := range parts {
		out[i] = string(part)
	}
	return out, nil
}

// env returns the place's variables for a new command.
func (p place) env() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(p.Set)) {
		list = append(list, name+"="+p.Set[name])
	}
	return list
}

// program returns an argv that runs a script and makes its shell record where it ended. The
// prologue is on the script's first line, so that the line numbers of errors are right.
func (k keeper) program(p place) func(string) []string {
	if k.file == "" {
		return nil
	}
	const write = `{ printf '%s\0' "$PWD"; env -0; }`
	lead := fmt.Sprintf("%s 2>/dev/null >%s; trap %s EXIT; ", write, quote(k.before()),
		quote(write+" 2>/dev/null >"+quote(k.after())))
	for _, name := range p.Unset {
		if isName(name) {
			lead += "unset " + name + "; "
		}
	}
	return func(script string) []string { return agent.ShellCommand(lead + script) }
}

// quote returns a text as one shell word.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// settle returns the place for the next command. If its directory is gone, it uses the session's
// and reports that.
func (k keeper) settle(ctx context.Context, t agent.Turn) (place, error) {
	p := k.load()
	if p.Dir == "" {
		return p, ctx.Err()
	}
	if info, err := os.Stat(p.Dir); err == nil && info.IsDir() {
		return p, nil
	}
	gone := p.Dir
	p.Dir = ""
	return p, agent.Say(t.Out, agent.Code(gone)+" no longer exists. Running in the session's directory instead.")
}
