package box

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// mostLogin bounds the bytes of a file with credentials.
const mostLogin = 1 << 20

// logins synchronizes the files in which a session's agent renews its credentials between the session's home directory
// and the user's. Such a file cannot be mounted: agents write a new one and rename it over the old one, which fails for
// a mount. Renewed tokens also reach all other sessions.
type logins struct {
	cfg     Config
	home    *os.Root // the session's
	files   map[string]*loginFile
	stop    chan struct{}
	stopped chan struct{}
}

// loginFile is the state of one file.
type loginFile struct {
	same loginState // when both were last equal
	last loginState // at the last check
}

// loginState identifies the versions of both files.
type loginState struct{ own, users loginStamp }

// loginStamp identifies a version of a file. The zero value: no file.
type loginStamp struct {
	time  time.Time
	size  int64
	inode uint64
}

// loginsOf lists the files of a policy that are copied instead of mounted or linked.
func (c Config) loginsOf(p *sandbox.Policy) []string {
	return slices.DeleteFunc(slices.Clone(p.Home), func(rel string) bool { return !c.isLogin(p, rel) })
}

// isLogin reports whether a path below the home directory is a file with credentials, or becomes one by a login. It
// excludes paths that the session's programs can write anyway: they could replace one by a link.
func (c Config) isLogin(p *sandbox.Policy, rel string) bool {
	path := filepath.Join(c.Home, rel)
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		real, err = path, nil
	}
	isWritten := func(dir string) bool { return isBelow(path, dir) || isBelow(real, dir) }
	if err != nil || slices.ContainsFunc(p.Write, isWritten) {
		return false
	}
	info, err := os.Stat(real)
	return err == nil && info.Mode().IsRegular() || errors.Is(err, fs.ErrNotExist) && filepath.Ext(rel) == ".json"
}

// watchLogins copies the user's files to a session's home directory, and starts watching both; nil: none.
func (b *Boxes) watchLogins(p *sandbox.Policy, dir string) (*logins, error) {
	files := b.cfg.loginsOf(p)
	if len(files) == 0 {
		return nil, nil
	}
	home, err := os.OpenRoot(filepath.Join(dir, "home"))
	if err != nil {
		return nil, err
	}
	l := &logins{cfg: b.cfg, home: home, files: map[string]*loginFile{}, stop: make(chan struct{}),
		stopped: make(chan struct{})}
	for _, rel := range files {
		l.files[rel] = &loginFile{}
		l.begin(rel)
	}
	go l.run(b.tick)
	return l, nil
}

// run checks the files until close.
func (l *logins) run(every time.Duration) {
	defer close(l.stopped)
	defer l.home.Close()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		last := false
		select {
		case <-tick.C:
		case <-l.stop:
			last = true
		}
		for rel, f := range l.files {
			l.look(rel, f, last)
		}
		if last {
			return
		}
	}
}

// close checks the files a last time. No program of the session runs any more.
func (l *logins) close() {
	if l != nil {
		close(l.stop)
		<-l.stopped
	}
}

// begin copies the user's file to the session, unless the session's is newer: an earlier run of this program ended
// before copying it. If the user has no file, for example after a logout, it removes the session's.
func (l *logins) begin(rel string) {
	own, ownContent := l.read(rel)
	users, content := l.readUsers(rel)
	switch {
	case content == nil:
		if _, err := l.home.Lstat(rel); err == nil {
			_ = l.home.RemoveAll(rel)
		}
	case ownContent == nil || !own.time.After(users.time):
		if info, err := l.home.Lstat(rel); err == nil && !info.Mode().IsRegular() {
			_ = l.home.RemoveAll(rel)
		}
		l.report(rel, l.write(rel, content, users.time))
	default:
		l.report(rel, l.writeUsers(rel, ownContent))
	}
	l.files[rel].same = l.stateOf(rel)
	l.files[rel].last = l.files[rel].same
}

// look copies the newer of both files, once they are unchanged between two checks.
func (l *logins) look(rel string, f *loginFile, isLast bool) {
	now := l.stateOf(rel)
	waits := now != f.last && !isLast // a write may be in progress
	f.last = now
	if now == f.same || waits {
		return
	}
	own, ownContent := l.read(rel)
	users, content := l.readUsers(rel)
	isMine := own != f.same.own && (content == nil || own.time.After(users.time))
	var err error
	switch {
	case bytes.Equal(ownContent, content):
	case isMine && ownContent != nil:
		err = l.writeUsers(rel, ownContent)
	case users != f.same.users && content != nil && !isMine:
		err = l.write(rel, content, users.time)
	default:
		return
	}
	l.report(rel, err)
	f.same = l.stateOf(rel)
	f.last = f.same
}

func (l *logins) report(rel string, err error) {
	if err != nil {
		l.cfg.Log.Warn("an agent's credentials were not copied between the home directory and a sandbox", "file", rel,
			"err", err)
	}
}

// stateOf returns the state of both files without opening them.
func (l *logins) stateOf(rel string) (s loginState) {
	if info, err := l.home.Lstat(rel); err == nil {
		s.own = stampOf(info)
	}
	if info, err := os.Stat(filepath.Join(l.cfg.Home, rel)); err == nil {
		s.users = stampOf(info)
	}
	return s
}

func stampOf(info fs.FileInfo) loginStamp {
	s := loginStamp{time: info.ModTime(), size: info.Size()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.inode = sys.Ino
	}
	return s
}

// read returns the session's file, or nil unless it has credentials. Programs of the session wrote it.
func (l *logins) read(rel string) (loginStamp, []byte) {
	f, err := l.home.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return loginStamp{}, nil
	}
	defer f.Close()
	return readLogin(rel, f)
}

// readUsers returns the user's file, or nil unless it has credentials.
func (l *logins) readUsers(rel string) (loginStamp, []byte) {
	f, err := os.OpenFile(filepath.Join(l.cfg.Home, rel), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return loginStamp{}, nil
	}
	defer f.Close()
	if l.cfg.Guard.CheckFile(f) != nil {
		return loginStamp{}, nil
	}
	return readLogin(rel, f)
}

// readLogin returns the content of a file if it is complete.
func readLogin(rel string, f *os.File) (loginStamp, []byte) {
	info, err := f.Stat()
	if err != nil {
		return loginStamp{}, nil
	}
	s := stampOf(info)
	if !info.Mode().IsRegular() || info.Size() > mostLogin {
		return s, nil
	}
	content, err := io.ReadAll(io.LimitReader(f, mostLogin))
	if err != nil || len(content) == 0 || strings.HasSuffix(rel, ".json") && !json.Valid(content) {
		return s, nil
	}
	return s, content
}

// write replaces the session's file.
func (l *logins) write(rel string, content []byte, at time.Time) error {
	temporary := rel + ".ahphub"
	if err := l.home.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return err
	}
	_ = l.home.RemoveAll(temporary)
	f, err := l.home.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = l.home.Chtimes(temporary, at, at)
	}
	if err == nil {
		err = l.home.Rename(temporary, rel)
	}
	if err != nil {
		_ = l.home.RemoveAll(temporary)
	}
	return err
}

// writeUsers replaces the user's file, or the target of their link. It keeps the time of the session's file, which
// programs can choose.
func (l *logins) writeUsers(rel string, content []byte) error {
	path := filepath.Join(l.cfg.Home, rel)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := l.cfg.Guard.CheckPath(path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ahphub-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	now := time.Now()
	if err == nil {
		err = os.Chtimes(f.Name(), now, now)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		err = l.home.Chtimes(rel, now, now)
	}
	return err
}
