package changeset

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// The names of files that tell git how to read others: in every directory, and only at the top.
var (
	controlNames = []string{".gitattributes", ".gitignore"}
	topNames     = []string{".gitmodules", ".mailmap"}
)

// checkTop refuses special files among those that git reads at the top of a work tree and those
// named by settings.
func (src source) checkTop() error {
	for _, name := range append(topNames, controlNames...) {
		if err := checkPlain(filepath.Join(src.top, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{src.value("core.excludesfile"), src.value("core.attributesfile")} {
		if err := checkPlain(expandHome(name, src.top)); name != "" && err != nil {
			return err
		}
	}
	return nil
}

// expandHome resolves a path in git's settings.
func expandHome(name, relativeTo string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(userHome(), rest)
	}
	return joinPath(relativeTo, name)
}

// checkTree refuses special files wherever git reads control files for the session's directory:
// above it, and in each directory below it that git enters.
func (src source) checkTree(ctx context.Context) error {
	return src.checkBelow(ctx, src.root())
}

// checkBelow does the same for one directory.
func (src source) checkBelow(ctx context.Context, dir string) error {
	c := treeCheck{ctx: ctx, top: src.top}
	rules, err := c.rulesOf(src)
	if err != nil {
		return err
	}
	rel := relSlash(src.top, dir)
	for at := ""; rel != "" && at != rel; at = nextBelow(at, rel) {
		if rules, err = c.enter(at, rules); err != nil {
			return err
		}
	}
	return c.folder(rel, rules)
}

// checkAround refuses special files in the directories of some paths below the top, and in their
// parents. A directory among the paths stands for its content.
func (src source) checkAround(ctx context.Context, paths []string) error {
	if err := src.checkParents(paths); err != nil {
		return err
	}
	for _, p := range paths {
		full := filepath.Join(src.top, filepath.FromSlash(p))
		if info, err := os.Lstat(full); err == nil && info.IsDir() {
			if err := src.checkBelow(ctx, full); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkParents checks only the directories above some paths.
func (src source) checkParents(paths []string) error {
	seen := map[string]bool{}
	for _, p := range paths {
		for dir := path.Dir(p); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			for _, name := range controlNames {
				if err := checkPlain(filepath.Join(src.top, filepath.FromSlash(dir), name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func relSlash(top, dir string) string {
	rel, err := filepath.Rel(top, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// nextBelow returns the directory one level below at on the way to rel.
func nextBelow(at, rel string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(rel, at), "/")
	first, _, _ := strings.Cut(rest, "/")
	return path.Join(at, first)
}

// treeCheck walks a work tree as git does.
type treeCheck struct {
	ctx context.Context
	top string
}

// rulesOf returns the ignore rules outside of the work tree.
func (c treeCheck) rulesOf(src source) (rules []ignoreRules, err error) {
	files := []string{expandHome(cmp.Or(src.value("core.excludesfile"), userIgnore()), src.top)}
	if src.common != "" {
		files = append(files, filepath.Join(src.common, "info", "exclude"))
	}
	for _, name := range files {
		if rules, err = addRules(rules, "", name); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// addRules adds the rules of a file; an unreadable file has none.
func addRules(rules []ignoreRules, below, name string) ([]ignoreRules, error) {
	data, err := readPlain(name, mostAttributes)
	if err != nil {
		return rules, onlySpecial(err)
	}
	return append(rules[:len(rules):len(rules)], parseIgnore(below, data)), nil
}

// enter checks the control files of one directory.
func (c treeCheck) enter(rel string, rules []ignoreRules) ([]ignoreRules, error) {
	dir := filepath.Join(c.top, filepath.FromSlash(rel))
	for _, name := range controlNames {
		if err := checkPlain(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return addRules(rules, rel, filepath.Join(dir, ".gitignore"))
}

// folder checks a directory and its subdirectories that are not ignored.
func (c treeCheck) folder(rel string, rules []ignoreRules) error {
	if err := c.ctx.Err(); err != nil {
		return context.Cause(c.ctx)
	}
	dir := filepath.Join(c.top, filepath.FromSlash(rel))
	var below []string
	var nested, ignoring bool
	err := eachName(dir, func(name []byte, mode fs.FileMode) error {
		switch {
		case string(name) == ".git":
			nested = rel != ""
		case mode.IsDir():
			below = append(below, string(name))
		case string(name) == ".gitignore":
			ignoring = true
			return checkMode(dir, ".gitignore", mode)
		case string(name) == ".gitattributes":
			return checkMode(dir, ".gitattributes", mode)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if nested {
		if inner, err := checkNested(dir); inner || err != nil {
			return err
		}
	}
	if ignoring {
		if rules, err = addRules(rules, rel, filepath.Join(dir, ".gitignore")); err != nil {
			return err
		}
	}
	for _, name := range below {
		sub := path.Join(rel, name)
		if ignores(rules, sub) {
			continue
		}
		if err := c.folder(sub, rules); err != nil {
			return err
		}
	}
	return nil
}

// checkNested checks a nested repository, from which git only reads the checked-out commit.
func checkNested(dir string) (inner bool, err error) {
	gitDir, err := gitDirAt(dir)
	if err != nil || gitDir == "" {
		return false, err
	}
	common, err := commonOf(gitDir)
	if err != nil {
		return false, err
	}
	for _, d := range []string{gitDir, common} {
		if err := eachEntry(d, func(e fs.DirEntry) error { return checkEntry(d, e) }); err != nil {
			return false, err
		}
	}
	return true, eachBelow(filepath.Join(common, "refs"), checkEntry)
}

const mostSought = 200_000 // directory entries

// findSpecial searches for the special file that git probably waited for, also in places that are
// not checked in advance: a file created between check and run, or an ignored one. It returns nil
// if it finds none.
func (src source) findSpecial() (found *machine.SpecialFileError) {
	left := mostSought
	for _, root := range []string{src.top, src.gitDir, src.common} {
		if root == "" {
			continue
		}
		_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if left--; left < 0 {
				return fs.SkipAll
			}
			if err != nil || d.IsDir() || root == src.top && !isControl(name) && !isGits(relSlash(root, name)) {
				return nil
			}
			if found, _ = checkEntry(filepath.Dir(name), d).(*machine.SpecialFileError); found != nil {
				return fs.SkipAll
			}
			return nil
		})
		if found != nil {
			return found
		}
	}
	return nil
}

func isControl(name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, ".git") || base == ".mailmap"
}
