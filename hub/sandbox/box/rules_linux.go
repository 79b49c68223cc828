package box

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/ahphub/ahphub/hub/sandbox"
)

// Landlock rights by the purpose of a path. Devices cannot be created anywhere.
const (
	listRights   = uint64(ll.AccessFSReadDir)
	readRights   = uint64(ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir)
	deviceRights = uint64(ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev)
	writeRights  = readRights | uint64(ll.AccessFSWriteFile|ll.AccessFSRemoveDir|ll.AccessFSRemoveFile|
		ll.AccessFSMakeDir|ll.AccessFSMakeReg|ll.AccessFSMakeSock|ll.AccessFSMakeFifo|ll.AccessFSMakeSym|
		ll.AccessFSRefer|ll.AccessFSTruncate|ll.AccessFSResolveUnix)
	fileRights = uint64(ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSTruncate |
		ll.AccessFSIoctlDev | ll.AccessFSResolveUnix)
)

// handled returns the rights that a version of Landlock denies unless a rule allows them.
func handled(version int) (a ll.RulesetAttr) {
	bits := 13 // of file systems
	switch {
	case version >= 9:
		bits = 17
	case version >= 5:
		bits = 16
	case version >= 2:
		bits = 12 + version
	}
	a.HandledAccessFS = 1<<bits - 1
	if version >= 4 {
		a.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if version >= 10 {
		a.HandledAccessNet |= ll.AccessNetBindUDP | ll.AccessNetConnectSendUDP
	}
	if version >= 6 {
		a.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	return a
}

// grant allows programs to use an opened file.
type grant struct {
	path   string
	rights uint64
	file   *os.File
}

// addTo adds a grant to a ruleset, with the rights that a version of Landlock knows.
func (g grant) addTo(rules *os.File, version int) error {
	info, err := g.file.Stat()
	if err != nil {
		return err
	}
	rights := g.rights & handled(version).HandledAccessFS
	if !info.IsDir() {
		rights &= fileRights
	}
	if rights == 0 {
		return nil
	}
	return ll.LandlockAddPathBeneathRule(int(rules.Fd()), &ll.PathBeneathAttr{AllowedAccess: rights,
		ParentFd: int(g.file.Fd())}, 0)
}

// locks collects the grants for the programs of a session.
type locks struct {
	cfg     Config
	version int
	policy  *sandbox.Policy
	grants  []grant
	home    *os.Root // the session's own
}

func (l *locks) close() {
	for _, g := range l.grants {
		g.file.Close()
	}
	if l.home != nil {
		l.home.Close()
	}
}

// planLock lists what the programs of a policy may use; their private files are in dir.
func planLock(cfg Config, p *sandbox.Policy, dir string, version int) (*locks, error) {
	p = followTopLinks(p)
	l := &locks{cfg: cfg, version: version, policy: p}
	if p.Network != sandbox.Open && p.Network != sandbox.Closed {
		return nil, errors.New("a sandbox by Landlock alone cannot limit the network to a list. Install bubblewrap, or choose another " +
			"network")
	}
	err := l.allowPrivate(dir)
	for _, add := range []func() error{l.allowSystem, l.allowHome, l.allowPolicy} {
		if err == nil {
			err = add()
		}
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// ruleset creates a Landlock ruleset from the plan.
func (l *locks) ruleset() (*os.File, error) {
	attr := handled(l.version)
	if l.policy.Network == sandbox.Open {
		attr.HandledAccessNet = 0
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return nil, err
	}
	rules := os.NewFile(uintptr(fd), "ruleset")
	for _, g := range l.grants {
		if err := g.addTo(rules, l.version); err != nil {
			rules.Close()
			return nil, &fs.PathError{Op: "allow", Path: g.path, Err: err}
		}
	}
	for _, r := range l.policy.Relays {
		if attr.HandledAccessNet == 0 {
			break
		}
		err := ll.LandlockAddNetPortRule(fd, &ll.NetPortAttr{AllowedAccess: ll.AccessNetConnectTCP, Port: uint64(r.Port)}, 0)
		if err != nil {
			rules.Close()
			return nil, err
		}
	}
	return rules, nil
}

// allow allows a path, which it opens without following links.
func (l *locks) allow(path string, rights uint64) error {
	f, err := openPath(path)
	if err != nil {
		return err
	}
	l.grants = append(l.grants, grant{path, rights, f})
	return nil
}

// allowThere allows a path of the system if it exists.
func (l *locks) allowThere(path string, rights uint64) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	return l.allow(real, rights)
}

// allowSplit allows the contents of a directory, except some paths below it, which get other rights. No Landlock rule
// can remove rights granted above it. So the entries are allowed one by one, and no new ones can be created in the
// parents of those paths. Links are left out: their targets have their own rules.
func (l *locks) allowSplit(path string, rights, rest uint64, except []string) error {
	if slices.Contains(except, path) {
		return l.allow(path, rest)
	}
	holds := func(e string) bool { return isBelow(e, path) }
	if !slices.ContainsFunc(except, holds) {
		return l.allow(path, rights)
	}
	if err := l.allow(path, rest|listRights); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink != 0 {
			continue
		}
		err := l.allowSplit(filepath.Join(path, entry.Name()), rights, rest, except)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// devices are devices that reveal no state of the computer.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// allowSystem allows the parts of the computer that every program needs. Landlock itself closes /proc entries of other
// processes that a program must not trace.
func (l *locks) allowSystem() error {
	for _, path := range slices.Concat([]string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt",
		"/nix", "/proc", "/etc/resolv.conf"}, kernelSettings) {
		if err := l.allowThere(path, readRights); err != nil {
			return err
		}
	}
	for _, path := range devices {
		if err := l.allowThere(path, deviceRights); err != nil {
			return err
		}
	}
	if err := l.allowSplit("/etc", readRights, 0, closedBelow("/etc")); err != nil {
		return err
	}
	return l.allowThere(l.cfg.Program, readRights)
}

// allowPrivate allows the session's own home, temporary and exchange directories.
func (l *locks) allowPrivate(dir string) error {
	for _, name := range []string{"home", "tmp", "work"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		if err := l.allow(path, writeRights); err != nil {
			return err
		}
	}
	var err error
	l.home, err = os.OpenRoot(filepath.Join(dir, "home"))
	return err
}

// allowHome allows the paths of the user's home directory that the policy and tool chains need, and links to them.
func (l *locks) allowHome() error {
	for _, rel := range l.cfg.homeReads(l.policy) {
		if err := l.allowOwn(rel, readRights); err != nil {
			return err
		}
	}
	for _, rel := range l.policy.Home {
		if l.cfg.isLogin(l.policy, rel) {
			continue // it is copied
		}
		if err := l.allowOwn(rel, writeRights); err != nil {
			return err
		}
	}
	return nil
}

// allowOwn allows a path below the home directory, if it exists. It may be elsewhere: the user's links are followed.
func (l *locks) allowOwn(rel string, rights uint64) error {
	path := filepath.Join(l.cfg.Home, rel)
	f, err := l.cfg.openOwn(path)
	if f == nil {
		return err
	}
	l.grants = append(l.grants, grant{path, rights, f})
	linkHome(l.home, rel, path)
	return nil
}

// allowPolicy allows the directories of the policy.
func (l *locks) allowPolicy() error {
	p := l.policy
	for _, path := range slices.Concat(p.Write, p.Read) {
		if err := l.cfg.checkWide(path); err != nil {
			return err
		}
	}
	for _, path := range p.Read {
		if err := l.allowChecked(path, readRights, nil); err != nil {
			return err
		}
	}
	for _, path := range p.Write {
		if err := l.allowChecked(path, writeRights, p.Seal); err != nil {
			return err
		}
	}
	for _, dir := range p.Git {
		if err := l.allowGit(dir); err != nil {
			return err
		}
	}
	return nil
}

// allowChecked allows a path of the policy if the guard allows it, with sealed paths in it read-only.
func (l *locks) allowChecked(path string, rights uint64, sealed []string) error {
	f, err := openPath(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := l.cfg.Guard.CheckFile(f, l.policy.Own...); err != nil {
		return refusePath(path, err)
	}
	return l.allowSplit(path, rights, readRights, sealed)
}

// allowGit allows the git directory of a repository in whose worktree the session works. No new files can be created
// directly in it, as they could replace its settings: git cannot pack references there.
func (l *locks) allowGit(dir string) error {
	sealed := []string{}
	for _, name := range []string{"config", "config.worktree", "hooks", "modules", "worktrees"} {
		sealed = append(sealed, filepath.Join(dir, name))
	}
	if err := l.allowChecked(dir, writeRights, sealed); err != nil {
		return err
	}
	worktrees := filepath.Join(dir, "worktrees")
	entries, err := os.ReadDir(worktrees)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		at := filepath.Join(worktrees, entry.Name())
		if !isWorktreeOf(at, l.policy) {
			continue
		}
		if err := l.allowChecked(at, writeRights, nil); err != nil {
			return err
		}
	}
	return nil
}
