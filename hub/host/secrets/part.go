package secrets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/audit"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/redact"
	"github.com/ahphub/ahphub/hub/sandbox"
)

// Secret is a value that the programs of a session have: in the variable Name, or in a file whose path that variable has.
type Secret struct {
	Name, Value string
	File        bool
}

// secretDir is the directory of files with secrets: in a sandbox's work directory, or the data directory.
const secretDir = "secret-files"

// Config configures a Part.
type Config struct {
	// Of returns what the programs of a session have that works in directories; nil: nothing.
	Of func(session ahp.URI, dirs []string) ([]Secret, error)

	Audit   *audit.Log // nil: nothing is written down
	DataDir string
	Boxes   string // where sandboxes keep the private files of sessions; "" without sandboxes

	// WorkDir makes the directory of a session's sandbox that its programs and the host share; "" when it has none.
	WorkDir func(session ahp.URI, s *ahp.SessionState) (string, error)

	// WorktreeOf returns a session's worktree and its repository; ok is false when it has none.
	WorktreeOf func(s *ahp.SessionState) (dir, repo string, ok bool)
}

// Part gives sessions their secrets, and hides them in what their programs say.
type Part struct {
	core *core.Core
	cfg  Config

	mu sync.RWMutex
	by map[ahp.URI]*known
}

// New returns a Part.
func New(c *core.Core, cfg Config) *Part { return &Part{core: c, cfg: cfg, by: map[ahp.URI]*known{}} }

// known are the secrets that a session's programs have had since the start: they are hidden to its end.
type known struct {
	list  []redact.Secret
	set   *redact.Set
	noted []string // names that the audit has
}

// Give returns the variables with a session's secrets, if its programs are given them, and what is to be hidden.
func (p *Part) Give(ctx context.Context, session ahp.URI, given bool) ([]string, *redact.Set, error) {
	if p.cfg.Of == nil || session == "" {
		return nil, nil, nil
	}
	state, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, session)
	if !ok && p.core.Ensure(ctx, session) == nil { // it sleeps
		state, ok = hub.StateOf[*ahp.SessionState](p.core.Hub, session)
	}
	if !ok {
		return nil, nil, core.NoSession(session)
	}
	list, err := p.cfg.Of(session, p.places(state))
	if err != nil {
		return nil, nil, err
	}
	set, news := p.learn(session, list, given)
	if !given || len(list) == 0 {
		return nil, set, nil
	}
	env, err := p.environment(session, state, list)
	if err == nil && len(news) > 0 {
		p.cfg.Audit.Note(ctx, audit.Entry{Who: access.Owner("").ID, What: "gave secrets to programs: " + strings.Join(news, ", "),
			On: session})
	}
	return env, set, err
}

// places returns the directories whose secrets a session has: its own, and the repository of its worktree.
func (p *Part) places(s *ahp.SessionState) []string {
	dirs := core.LocalPaths(s.WorkingDirectories)
	if _, repo, ok := p.cfg.WorktreeOf(s); ok {
		dirs = append(slices.Clone(dirs), repo)
	}
	return dirs
}

// learn keeps what is to be hidden. news are the names that programs are given for the first time.
func (p *Part) learn(session ahp.URI, list []Secret, given bool) (set *redact.Set, news []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.by[session]
	if k == nil {
		if len(list) == 0 {
			return nil, nil
		}
		k = &known{}
		p.by[session] = k
	}
	before := len(k.list)
	for _, one := range list {
		if hidden := (redact.Secret{Name: one.Name, Value: one.Value}); !slices.Contains(k.list, hidden) {
			k.list = append(k.list, hidden)
		}
		if given && !slices.Contains(k.noted, one.Name) {
			news = append(news, one.Name)
		}
	}
	k.noted = append(k.noted, news...)
	if len(k.list) > before {
		k.set = redact.New(k.list)
	}
	return k.set, news
}

// Hidden returns what is hidden of a session; nil for nothing.
func (p *Part) Hidden(session ahp.URI) *redact.Set {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if k := p.by[session]; k != nil {
		return k.set
	}
	return nil
}

// Forget removes what is left of a session that is gone.
func (p *Part) Forget(session ahp.URI) {
	p.mu.Lock()
	delete(p.by, session)
	p.mu.Unlock()
	if p.cfg.Of == nil {
		return
	}
	short := core.ShortID(session)
	err := os.RemoveAll(filepath.Join(p.cfg.DataDir, secretDir, short))
	if p.cfg.Boxes != "" {
		if work := sandbox.WorkDir(p.cfg.Boxes, short); isDir(work) {
			err = errors.Join(err, writeSecrets(work, nil))
		}
	}
	if err != nil {
		p.core.Log.Warn("files with a session's secrets are left behind", "session", session, "err", err)
	}
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// environment writes the files of secrets and returns the variables of all.
func (p *Part) environment(session ahp.URI, state *ahp.SessionState, list []Secret) (env []string, err error) {
	dir, err := p.cfg.WorkDir(session, state)
	if err == nil && dir == "" {
		dir = filepath.Join(p.cfg.DataDir, secretDir, core.ShortID(session))
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	if err := writeSecrets(dir, list); err != nil {
		return nil, fmt.Errorf("the files with this session's secrets cannot be written: %w", err)
	}
	for _, one := range list {
		if one.File {
			env = append(env, one.Name+"="+filepath.Join(dir, secretDir, one.Name))
		} else {
			env = append(env, one.Name+"="+one.Value)
		}
	}
	return env, nil
}

// writeSecrets makes the files of secrets below dir be those of the list. Programs in a sandbox may write in dir: what
// they left there leads nowhere else.
func writeSecrets(dir string, list []Secret) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := slices.DeleteFunc(slices.Clone(list), func(one Secret) bool { return !one.File })
	if len(files) == 0 {
		return root.RemoveAll(secretDir)
	}
	if info, err := root.Lstat(secretDir); err == nil && !info.IsDir() {
		if err := root.RemoveAll(secretDir); err != nil {
			return err
		}
	}
	if err := root.Mkdir(secretDir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	own, err := root.OpenRoot(secretDir)
	if err != nil {
		return err
	}
	defer own.Close()
	return errors.Join(removeOthers(own, files), writeFiles(own, files))
}

// removeOthers removes what is no file of the list.
func removeOthers(dir *os.Root, files []Secret) error {
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		if !slices.ContainsFunc(files, func(one Secret) bool { return one.Name == e.Name() }) {
			err = errors.Join(err, dir.RemoveAll(e.Name()))
		}
	}
	return err
}

func writeFiles(dir *os.Root, files []Secret) error {
	for _, one := range files {
		fresh := one.Name + ".new"
		if err := dir.RemoveAll(fresh); err != nil {
			return err
		}
		f, err := dir.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(one.Value)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if info, err := dir.Lstat(one.Name); err == nil && !info.Mode().IsRegular() {
			if err := dir.RemoveAll(one.Name); err != nil {
				return err
			}
		}
		if err := dir.Rename(fresh, one.Name); err != nil {
			return err
		}
	}
	return nil
}

// Sweep removes the files of this run, or of an earlier one that was cut off: its programs are gone.
func (p *Part) Sweep() {
	if p.cfg.Of == nil {
		return
	}
	err := os.RemoveAll(filepath.Join(p.cfg.DataDir, secretDir))
	if p.cfg.Boxes != "" {
		err = errors.Join(err, sweepBoxes(p.cfg.Boxes))
	}
	if err != nil {
		p.core.Log.Warn("files with secrets are left behind", "err", err)
	}
}

func sweepBoxes(dir string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		work := filepath.Join(e.Name(), "work")
		if info, stat := root.Lstat(work); e.IsDir() && stat == nil && info.IsDir() {
			err = errors.Join(err, root.RemoveAll(filepath.Join(work, secretDir)))
		}
	}
	return err
}
