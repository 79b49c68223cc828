package changeset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// repo is the private repository of one directory of a session. Its own index is the stat cache between checkpoints.
type repo struct {
	s   *Service
	ws  machine.Workspace
	dir string // as the session names it
	git string // the private git directory
}

func (s *Service) repo(ws machine.Workspace, dir string) *repo {
	return &repo{s: s, ws: ws, dir: dir, git: filepath.Join(s.home(ws), shortHash(dir))}
}

// run runs git on the private repository with the user's files as its worktree. The user's
// configuration is not read, so none of their filters has a name.
func (r *repo) run(ctx context.Context, src source, stdin []byte, args ...string) ([]byte, error) {
	return r.s.git(ctx, r.on(src, run{stdin: stdin, args: args}))
}

func (r *repo) on(src source, what run) run {
	what.of, what.dir, what.config = src, src.top, src.config
	what.env = append(isolated(), "GIT_DIR="+r.git, "GIT_WORK_TREE="+src.top)
	return what
}

// write runs commands that write the private index. A large index is split: its unchanged part is
// in a file of its own, and only changes are written.
func (r *repo) write(ctx context.Context, src source, stdin []byte, args ...string) ([]byte, error) {
	if r.splits(src) {
		src.config = append(slices.Clip(src.config), "-c", "core.splitIndex=true", "-c",
			"splitIndex.sharedIndexExpire=now")
	}
	return r.s.git(ctx, r.on(src, run{stdin: stdin, args: args, patience: r.s.cfg.Checkpoint}))
}

// splits reports whether to split the private index. It does not if the user's index is split: the
// private directory then has their shared file too, which git would consider stale.
func (r *repo) splits(src source) bool {
	if src.gitDir == "" {
		return false
	}
	info, err := os.Stat(filepath.Join(src.gitDir, "index"))
	if err != nil || info.Size() < r.s.splitFrom {
		return false
	}
	shared, err := filepath.Glob(filepath.Join(globEscape(src.gitDir), "sharedindex.*"))
	return err == nil && len(shared) == 0
}

// trees runs git on stored content only. Without an index, git does not read worktree files in
// place of versions they seem to equal: they may change at any moment.
func (r *repo) trees(ctx context.Context, src source, stdin []byte, args ...string) ([]byte, error) {
	if _, err := os.Stat(src.top); err != nil {
		src.top = r.git // the directory is gone, but its stored content is not
	}
	return r.s.git(ctx, run{of: src, dir: src.top, stdin: stdin, args: args,
		env: append(isolated(), "GIT_DIR="+r.git, "GIT_WORK_TREE="+src.top,
			"GIT_INDEX_FILE="+filepath.Join(r.git, "no-index"))})
}

func isolated() []string {
	return []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}
}

// take writes the tree of the directory's current content.
func (r *repo) take(ctx context.Context) (machine.Tree, error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return machine.Tree{}, err
	}
	defer unlock()
	return r.takeAll(ctx)
}

// takeAll reads every file; the lock is held.
func (r *repo) takeAll(ctx context.Context) (machine.Tree, error) {
	r.s.forgetLook(r)   // until it has succeeded
	r.s.forgetCounts(r) // attributes may have changed what counts as text
	src, err := r.s.locate(ctx, r.ws, r.dir)
	if err != nil {
		return machine.Tree{}, err
	}
	if err := src.checkTree(ctx); err != nil {
		return machine.Tree{}, err
	}
	if err := r.prepare(src); err != nil {
		return machine.Tree{}, fmt.Errorf("preparing a checkpoint: %w", err)
	}
	t := machine.Tree{Dir: r.dir, Top: src.top, Prefix: src.prefix}
	if t.Skipped, err = r.update(ctx, src); err != nil {
		return machine.Tree{}, err
	}
	if t.OID, err = r.writeTree(ctx, src); err == nil {
		r.s.remember(r, src, t)
	}
	return t, err
}

func (r *repo) writeTree(ctx context.Context, src source) (string, error) {
	out, err := r.write(ctx, src, nil, "write-tree", "--missing-ok")
	return strings.TrimSpace(string(out)), err
}

// committed returns the tree of a commit in the user's repository, or the empty tree.
func (r *repo) committed(ctx context.Context, tree func(context.Context, source) (string,
	error)) (machine.Tree, error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return machine.Tree{}, err
	}
	defer unlock()
	src, err := r.s.locate(ctx, r.ws, r.dir)
	if err != nil {
		return machine.Tree{}, err
	}
	if err := r.prepare(src); err != nil {
		return machine.Tree{}, fmt.Errorf("preparing a checkpoint: %w", err)
	}
	t := machine.Tree{Dir: r.dir, Top: src.top, Prefix: src.prefix}
	if t.OID, err = tree(ctx, src); err != nil || t.OID != "" {
		return t, err
	}
	out, err := r.run(ctx, src, []byte{}, "mktree") // of nothing: the empty tree
	t.OID = strings.TrimSpace(string(out))
	return t, err
}

// prepare makes the repository and copies the settings that reading files depends on.
func (r *repo) prepare(src source) error {
	if err := r.create(src); err != nil {
		return err
	}
	if err := r.unlockIndex(); err != nil {
		return err
	}
	if src.gitDir == "" {
		return nil
	}
	for _, name := range []string{"exclude", "attributes"} {
		if err := mirror(filepath.Join(src.common, "info", name), filepath.Join(r.git, "info", name)); err != nil {
			return err
		}
	}
	if err := mirror(filepath.Join(src.gitDir, "info", "sparse-checkout"),
		filepath.Join(r.git, "info", "sparse-checkout")); err != nil {
		return err
	}
	return r.copyIndex(src)
}

// unlockIndex removes the lock of a killed git: one process owns the data directory, and the lock
// is held.
func (r *repo) unlockIndex() error { return removeIfThere(filepath.Join(r.git, "index.lock")) }

// create lays out a repository by hand: git init would read the user's templates and defaults.
func (r *repo) create(src source) error {
	// closed to other users
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tlogallrefupdates = false\n\tsharedRepository " +
		"= 0600\n"
	if src.format != "sha1" {
		config = strings.Replace(config, "= 0", "= 1", 1) + "[extensions]\n\tobjectFormat = " + src.format + "\n"
	}
	alternates := ""
	if src.common != "" {
		alternates = filepath.Join(src.common, "objects") + "\n"
	}
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "info"} {
		if err := os.MkdirAll(filepath.Join(r.git, d), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(
		keepWritten(filepath.Join(r.git, "HEAD"), "ref: refs/heads/none\n"),
		keepWritten(filepath.Join(r.git, "config"), config),
		keepWritten(filepath.Join(r.git, "objects/info/alternates"), alternates))
}

// keepWritten writes a file unless it has that content.
func keepWritten(name, content string) error {
	if had, err := os.ReadFile(name); err == nil && string(had) == content {
		return nil
	}
	return os.WriteFile(name, []byte(content), 0o600)
}

const mostMirrored = 64 << 20 // bytes of an exclude or attributes file; git allows attributes up to 100 MB

// mirror makes to a copy of from, or removes it when from does not exist.
func mirror(from, to string) error {
	data, err := readPlain(from, mostMirrored)
	if errors.Is(err, fs.ErrNotExist) {
		data, err = nil, nil
	}
	if err != nil {
		return err
	}
	if len(data) == 0 {
		if err := os.Remove(to); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return keepWritten(to, string(data))
}

// copyIndex starts from the user's index, which knows the hash of every unchanged file. It is
// copied again when theirs changed, because it may then contain tracked files that are ignored.
func (r *repo) copyIndex(src source) error {
	version, err := r.indexVersion(src)
	if version == "" || err != nil {
		return err // nothing was ever added
	}
	mark := filepath.Join(r.git, "index.from")
	if had, err := os.ReadFile(mark); err == nil && string(had) == version {
		return nil
	}
	shared, err := filepath.Glob(filepath.Join(globEscape(src.gitDir), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, name := range shared { // a split index has most of its content in these
		if err := copyFile(name, filepath.Join(r.git, filepath.Base(name))); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := copyFile(filepath.Join(src.gitDir, "index"), filepath.Join(r.git, "index")); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(version), 0o600)
}

// indexVersion returns the version of the user's index; "" for none.
func (r *repo) indexVersion(src source) (string, error) {
	name := filepath.Join(src.gitDir, "index")
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || src.gitDir == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	version := fmt.Sprintf("%s\n%d\n%d\n", name, info.ModTime().UnixNano(), info.Size())
	if r.s.isTrusted(src.top) {
		version += "filtered\n" // read everything again that was read without filters
	}
	return version, nil
}

func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// copyFile copies by way of a temporary file, so that a crash leaves the old one. It keeps the
// modification time: git trusts an entry of an index only if the file was written before the index.
func copyFile(from, to string) error {
	in, err := openPlain(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(to), "copy-")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Close())
	if err == nil {
		err = os.Chtimes(out.Name(), info.ModTime(), info.ModTime())
	}
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		os.Remove(out.Name())
	}
	return err
}
