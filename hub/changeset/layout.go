package changeset

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// layout is the location of the repository around a directory, with links resolved. It is found by
// git's rules but without running git, which would read whatever the repository's files lead to.
type layout struct {
	dir    string // the directory itself
	top    string // holds .git; "" when there is no repository
	gitDir string
	common string // where objects and branches are, shared between work trees
}

const (
	mostGitFile = 1 << 20 // bytes of a .git file, as git allows
	mostPointer = 1 << 16 // bytes of a file that holds one path
)

// findLayout looks for a repository in dir and its parents. A bare repository, or a directory
// inside a git directory, counts as none.
func findLayout(dir string) (layout, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return layout{}, err
	}
	l := layout{dir: real}
	ceiling := ceilingOf(real)
	for at := real; ; at = filepath.Dir(at) {
		gitDir, err := gitDirAt(at)
		switch bare := false; {
		case err != nil:
			return l, err
		case gitDir != "":
			return l.found(at, gitDir)
		default:
			if bare, err = isGitDir(at); err != nil || bare {
				return l, err
			}
		}
		if parent := filepath.Dir(at); parent == at || parent == ceiling || !sameDevice(at, parent) {
			return l, nil
		}
	}
}

func (l layout) found(top, gitDir string) (_ layout, err error) {
	if l.gitDir, err = filepath.EvalSymlinks(gitDir); err != nil {
		return l, err
	}
	if l.common, err = commonOf(l.gitDir); err != nil {
		return l, err
	}
	l.top = top
	l.common, err = filepath.EvalSymlinks(l.common)
	return l, err
}

// ceilingOf returns the deepest of GIT_CEILING_DIRECTORIES above a directory, "" for none.
func ceilingOf(dir string) (deepest string) {
	for _, c := range filepath.SplitList(os.Getenv("GIT_CEILING_DIRECTORIES")) {
		if real, err := filepath.EvalSymlinks(c); err == nil {
			c = real
		}
		if c != dir && filepath.IsAbs(c) && inside(dir, filepath.Clean(c)) && len(c) > len(deepest) {
			deepest = filepath.Clean(c)
		}
	}
	return deepest
}

// sameDevice reports whether two directories are on one file system; git looks no further.
func sameDevice(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX != nil || errY != nil {
		return false
	}
	devX, _ := fileID(x)
	devY, _ := fileID(y)
	return devX == devY
}

// gitDirAt returns the git directory that .git in a directory is or leads to, "" for none.
func gitDirAt(dir string) (string, error) {
	name := filepath.Join(dir, ".git")
	info, err := os.Stat(name)
	switch {
	case err != nil || !info.IsDir() && !info.Mode().IsRegular():
		return "", nil
	case info.Mode().IsRegular():
		if name, err = gitFile(dir); err != nil || name == "" {
			return "", err
		}
	}
	if is, err := isGitDir(name); !is {
		return "", err
	}
	return name, nil
}

// gitFile returns the target of a .git file; "" when it is not one.
func gitFile(dir string) (string, error) {
	data, err := readPlain(filepath.Join(dir, ".git"), mostGitFile)
	if err != nil {
		return "", err
	}
	target, ok := bytes.CutPrefix(data, []byte("gitdir: "))
	if !ok {
		return "", nil
	}
	return joinPath(dir, string(bytes.TrimRight(target, "\r\n"))), nil
}

// joinPath resolves a path relative to dir.
func joinPath(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// isGitDir reports whether git would take a directory for a git directory.
func isGitDir(dir string) (bool, error) {
	if !isDir(filepath.Join(dir, "objects")) || !isDir(filepath.Join(dir, "refs")) {
		if _, err := os.Lstat(filepath.Join(dir, "commondir")); err != nil {
			return false, nil
		}
	}
	if valid, err := isHead(filepath.Join(dir, "HEAD")); !valid {
		return false, err
	}
	common, err := commonOf(dir)
	return isDir(filepath.Join(common, "objects")) && isDir(filepath.Join(common, "refs")), err
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// isHead reports whether a file is a valid HEAD.
func isHead(name string) (bool, error) {
	target, err := os.Readlink(name)
	if err == nil && strings.HasPrefix(target, "refs/") {
		return true, nil
	}
	f, err := openPlain(name)
	if err != nil {
		return false, onlySpecial(err)
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head) // an empty file is not a HEAD
	head = head[:n]
	if ref, ok := bytes.CutPrefix(head, []byte("ref:")); ok {
		return bytes.HasPrefix(bytes.TrimLeft(ref, " \t\n\r"), []byte("refs/")), nil
	}
	return len(head) >= 40 && machine.IsOID(string(head[:40])), nil
}

// onlySpecial returns only errors of special files: to git, an unreadable directory is not a
// repository.
func onlySpecial(err error) error {
	if special, ok := errors.AsType[*machine.SpecialFileError](err); ok {
		return special
	}
	return nil
}

// commonOf returns the common directory of a git directory.
func commonOf(gitDir string) (string, error) {
	data, err := readPlain(filepath.Join(gitDir, "commondir"), mostPointer)
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	return joinPath(gitDir, strings.TrimRight(string(data), "\r\n")), nil
}

// checkUserFiles refuses special files among the person's own.
func checkUserFiles() error {
	for _, name := range userFiles() {
		if err := checkPlain(name); err != nil {
			return err
		}
	}
	return nil
}

// gitNames are the files that git itself reads in a git directory. Others may belong to other
// programs.
var gitNames = []string{"HEAD", "commondir", "config", "config.worktree", "index", "info", "logs", "objects",
	"packed-refs",
	"refs", "reftable", "shallow"}

// checkFiles checks all files that git opens in a git directory for any command.
func (l layout) checkFiles(a *admission) error {
	if strings.ContainsAny(l.top+l.gitDir, "\n\x00") {
		return errors.New("the path of this repository has a line break in it")
	}
	tops := slices.Compact([]string{l.gitDir, l.common})
	for _, dir := range tops {
		if err := eachEntry(dir, func(d fs.DirEntry) error {
			if !slices.Contains(gitNames, d.Name()) && !strings.HasPrefix(d.Name(), "sharedindex.") {
				return checkEntry(dir, d)
			}
			return a.entry(dir, d)
		}); err != nil {
			return err
		}
	}
	for _, name := range []string{"info", "objects", "objects/info", "objects/pack"} {
		dir := filepath.Join(l.common, filepath.FromSlash(name))
		if err := eachEntry(dir, func(d fs.DirEntry) error { return a.entry(dir, d) }); err != nil {
			return err
		}
	}
	for _, dir := range tops { // a linked work tree has its own
		if err := eachBelow(filepath.Join(dir, "refs"), a.entry); err != nil {
			return err
		}
	}
	if l.gitDir == l.common {
		return nil
	}
	dir := filepath.Join(l.gitDir, "info")
	return eachEntry(dir, func(d fs.DirEntry) error { return a.entry(dir, d) })
}

// eachBelow visits the entries of a directory and its subdirectories.
func eachBelow(dir string, visit func(dir string, d fs.DirEntry) error) error {
	return eachEntry(dir, func(d fs.DirEntry) error {
		if d.IsDir() {
			return eachBelow(filepath.Join(dir, d.Name()), visit)
		}
		return visit(dir, d)
	})
}

// eachEntry visits a directory unordered. It skips an unreadable one, as git does.
func eachEntry(dir string, visit func(fs.DirEntry) error) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(-1)
	for _, d := range entries {
		if err := visit(d); err != nil {
			return err
		}
	}
	return nil
}

// userFiles returns the person's own files that git reads for every repository.
func userFiles() []string {
	own := []string{filepath.Join(userHome(), ".gitconfig"), filepath.Join(userConfig(), "git", "config")}
	if name, set := os.LookupEnv("GIT_CONFIG_GLOBAL"); set {
		own = nil
		if name != "" && name != os.DevNull {
			own = []string{name}
		}
	}
	return append(own, userIgnore(), filepath.Join(filepath.Dir(userIgnore()), "attributes"))
}

// userIgnore returns the person's default ignore file.
func userIgnore() string { return filepath.Join(userConfig(), "git", "ignore") }

func userConfig() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(userHome(), ".config")
}

func userHome() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home
}
