package shell

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/agent"
	"github.com/ahphub/ahphub/hub/ahp"
)

const (
	mostEnv  = 64 << 10 // of what a chat's commands exported
	mostLeft = 4 << 20  // of what is read of an environment
)

// place is where the next command of a chat runs: what cd, export and unset of those before left behind.
type place struct {
	Dir   string            `json:"dir,omitempty"` // "" is the session's first directory
	Set   map[string]string `json:"set,omitempty"`
	Unset []string          `json:"unset,omitempty"`
}

// keeper keeps the place of one chat in the session's data directory, for one command. Without a directory nothing is kept.
type keeper struct {
	file string
	run  string // where the command writes its environment, at its start and at its end; gone when nobody reads it
}

func keeperOf(data string, chat ahp.URI) (keeper, error) {
	if data == "" {
		return keeper{}, nil
	}
	sum := sha256.Sum256([]byte(chat))
	run, err := os.MkdirTemp(data, "run-")
	return keeper{file: filepath.Join(data, hex.EncodeToString(sum[:8])+".json"), run: run}, err
}

func (k keeper) before() string { return filepath.Join(k.run, "before") }
func (k keeper) after() string  { return filepath.Join(k.run, "after") }

// close is called when the command is over or nobody waits for it any more.
func (k keeper) close() {
	if k.run != "" {
		_ = os.RemoveAll(k.run) // a leftover of a few KB goes with the session
	}
}

// load reads the place. One that cannot be read is where the session begins: a lost cd is no reason not to run.
func (k keeper) load() (p place) {
	raw, err := os.ReadFile(k.file)
	if err != nil || json.Unmarshal(raw, &p) != nil {
		return place{}
	}
	return p
}

// learn takes what a command left behind and keeps it. A command that was killed, or that became another program
// (exec), leaves nothing; then the place stays.
func (k keeper) learn(p place) error {
	before, err := readLeft(k.before())
	if err != nil {
		return nil
	}
	after, err := readLeft(k.after())
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
		return fmt.Errorf("more than %d KB were exported: they are not kept for the next command", mostEnv>>10)
	}
	p.Set, p.Unset = set, unset
	return nil
}

// own are the variables a shell sets for itself; COLUMNS and the like are each terminal's.
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

func readLeft(name string) ([]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
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

// env is the place's variables for a command that starts.
func (p place) env() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(p.Set)) {
		list = append(list, name+"="+p.Set[name])
	}
	return list
}

// program runs a script and has its shell write down where it ended. What does so stands on the script's first line, so
// that the line numbers of its errors are right.
func (k keeper) program(p place) func(string) []string {
	if k.file == "" {
		return nil
	}
	const write = `{ printf '%s\0' "$PWD"; env -0; }`
	lead := fmt.Sprintf("%s 2>/dev/null >%s; trap %s EXIT; ", write, quote(k.before()), quote(write+" 2>/dev/null >"+quote(k.after())))
	for _, name := range p.Unset {
		if isName(name) {
			lead += "unset " + name + "; "
		}
	}
	return func(script string) []string { return agent.ShellCommand(lead + script) }
}

// quote makes one word of a shell out of any text.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// settle is the place for the next command; one whose directory is gone begins anew there, and says so.
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
	return p, agent.Say(t.Out, agent.Code(gone)+" is gone: this runs in the session's directory.")
}
