package host

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
	"github.com/ahphub/ahphub/hub/host/terminals"
	"github.com/ahphub/ahphub/hub/host/worktrees"
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

// secrets gives sessions their secrets, and hides them in what their programs say.
type secrets struct {
	h *Host

	mu sync.RWMutex
	by map[ahp.URI]*known
}

// known are the secrets that a session's programs have had since the start: they are hidden to its end.
type known struct {
	list  []redact.Secret
	set   *redact.Set
	noted []string // names that the audit has
}

// give returns the variables with a session's secrets, if its programs are given them, and what is to be hidden.
func (s *secrets) give(ctx context.Context, session ahp.URI, given bool) ([]string, *redact.Set, error) {
	if s.h.cfg.Secrets == nil || session == "" {
		return nil, nil, nil
	}
	state, ok := hub.StateOf[*ahp.SessionState](s.h.core.Hub, session)
	if !ok && s.h.core.Ensure(ctx, session) == nil { // it sleeps
		state, ok = hub.StateOf[*ahp.SessionState](s.h.core.Hub, session)
	}
	if !ok {
		return nil, nil, core.NoSession(session)
	}
	list, err := s.h.cfg.Secrets(session, secretPlaces(state))
	if err != nil {
		return nil, nil, err
	}
	set, news := s.learn(session, list, given)
	if !given || len(list) == 0 {
		return nil, set, nil
	}
	env, err := s.environment(session, state, list)
	if err == nil && len(news) > 0 {
		s.h.cfg.Audit.Note(ctx, audit.Entry{Who: access.Owner("").ID, What: "gave secrets to programs: " + strings.Join(news, ", "),
			On: session})
	}
	return env, set, err
}

// secretPlaces returns the directories whose secrets a session has: its own, and the repository of its worktree.
func secretPlaces(s *ahp.SessionState) []string {
	dirs := core.LocalPaths(s.WorkingDirectories)
	if w, ok := worktrees.Of(s); ok {
		dirs = append(slices.Clone(dirs), w.Repo)
	}
	return dirs
}

// learn keeps what is to be hidden. news are the names that programs are given for the first time.
func (s *secrets) learn(session ahp.URI, list []Secret, given bool) (set *redact.Set, news []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.by[session]
	if k == nil {
		if len(list) == 0 {
			return nil, nil
		}
		k = &known{}
		s.by[session] = k
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

// hidden returns what is hidden of a session; nil for nothing.
func (s *secrets) hidden(session ahp.URI) *redact.Set {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if k := s.by[session]; k != nil {
		return k.set
	}
	return nil
}

// forget removes what is left of a session that is gone.
func (s *secrets) forget(session ahp.URI) {
	s.mu.Lock()
	delete(s.by, session)
	s.mu.Unlock()
	if s.h.cfg.Secrets == nil {
		return
	}
	short := core.ShortID(session)
	err := os.RemoveAll(filepath.Join(s.h.cfg.DataDir, secretDir, short))
	if s.h.cfg.Sandbox != nil {
		if work := sandbox.WorkDir(s.h.cfg.Sandbox.Dir, short); isDir(work) {
			err = errors.Join(err, writeSecrets(work, nil))
		}
	}
	if err != nil {
		s.h.core.Log.Warn("files with a session's secrets are left behind", "session", session, "err", err)
	}
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// environment writes the files of secrets and returns the variables of all.
func (s *secrets) environment(session ahp.URI, state *ahp.SessionState, list []Secret) (env []string, err error) {
	dir, _, err := s.h.sandboxDirs(session, state)
	if err == nil && dir == "" {
		dir = filepath.Join(s.h.cfg.DataDir, secretDir, core.ShortID(session))
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

// sweep removes the files of this run, or of an earlier one that was cut off: its programs are gone.
func (s *secrets) sweep() {
	if s.h.cfg.Secrets == nil {
		return
	}
	err := os.RemoveAll(filepath.Join(s.h.cfg.DataDir, secretDir))
	if s.h.cfg.Sandbox != nil {
		err = errors.Join(err, sweepBoxes(s.h.cfg.Sandbox.Dir))
	}
	if err != nil {
		s.h.core.Log.Warn("files with secrets are left behind", "err", err)
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

// forgetBox removes what programs of a session left outside of its directories, those of guests included.
func (h *Host) forgetBox(session ahp.URI) error {
	short := core.ShortID(session)
	return errors.Join(h.cfg.Machine.Forget(short), h.cfg.Machine.Forget(short+terminals.GuestsBox))
}
