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

// Secret is a secret of a session's programs: in the variable Name, or in a file whose path that
// variable contains.
type Secret struct {
	Name, Value string
	File        bool
}

// secretDir is the directory of files with secrets: in a sandbox's work directory, or the data directory.
const secretDir = "secret-files"

// Config configures a Part.
type Config struct {
	// Of returns the secrets of a session that works in dirs; nil: none.
	Of func(session ahp.URI, dirs []string) ([]Secret, error)

	Audit   *audit.Log // nil: nothing is recorded
	DataDir string
	Boxes   string // directory of the sandboxes' private files; "" without sandboxes

	// WorkDir creates the directory that a session's sandbox shares with the host; "" without a
	// sandbox.
	WorkDir func(session ahp.URI, s *ahp.SessionState) (string, error)

	// WorktreeOf returns a session's worktree and its repository; ok is false without one.
	WorktreeOf func(s *ahp.SessionState) (dir, repo string, ok bool)
}

// Part gives sessions their secrets, and redacts them from programs' output.
type Part struct {
	core *core.Core
	cfg  Config

	mu sync.RWMutex
	by map[ahp.URI]*known
}

// New returns a Part.
func New(c *core.Core, cfg Config) *Part { return &Part{core: c, cfg: cfg, by: map[ahp.URI]*known{}} }

// known holds the secrets that a session's programs have received. They are redacted until the
// session ends.
type known struct {
	list  []redact.Secret
	set   *redact.Set
	noted []string // names in the audit log
}

// Give returns the variables with a session's secrets, if given is true, and what to redact.
func (p *Part) Give(ctx context.Context, session ahp.URI, given bool) ([]string, *redact.Set, error) {
	if p.cfg.Of == nil || session == "" {
		return nil, nil, nil
	}
	state, ok := hub.StateOf[*ahp.SessionState](p.core.Hub, session)
	if !ok && p.core.Ensure(ctx, session) == nil { // it is unloaded
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

// places returns the directories whose secrets apply to a session: its own, and its worktree's
// repository.
func (p *Part) places(s *ahp.SessionState) []string {
	dirs := core.LocalPaths(s.WorkingDirectories)
	if _, repo, ok := p.cfg.WorktreeOf(s); ok {
		dirs = append(slices.Clone(dirs), repo)
	}
	return dirs
}

// learn records what to redact. news are the names that programs receive for the first time.
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

// Hidden returns what to redact from a session's output, or nil.
func (p *Part) Hidden(session ahp.URI) *redact.Set {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if k := p.by[session]; k != nil {
		return k.set
	}
	return nil
}

// Forget removes the secrets of a deleted session.
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

// environment writes the files of secrets and returns the variables of all secrets.
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

// writeSecrets makes the files below dir match the list. Programs in a sandbox may write in dir, so
// symbolic links there are not followed outside it.
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

// removeOthers removes everything that is not a file in the list.
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

// Sweep removes the files of this run, or of an interrupted one, whose programs have ended.
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
