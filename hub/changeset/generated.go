package changeset

import (
	"bytes"
	"context"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/machine"
)

const generatedAttr = "linguist-generated"

// setGenerated evaluates the worktree's attributes for changed files. It runs git only when an
// attribute file mentions the attribute.
func (r *repo) setGenerated(ctx context.Context, src source, files []machine.ChangedFile) error {
	if !r.namesGenerated(src, files) {
		return nil
	}
	paths, at := make([]string, len(files)), make(map[string]int, len(files))
	for i, f := range files {
		paths[i], at[f.Path] = f.Path, i
	}
	out, err := r.trees(ctx, src, lines0(paths), "check-attr", "-z", "--stdin", generatedAttr)
	if err != nil {
		return err
	}
	for f := fields(out); len(f) >= 3; f = f[3:] { // path, attribute, value
		i, ok := at[f[0]]
		if !ok {
			continue
		}
		switch f[2] {
		case "set", "true":
			files[i].Generated = machine.GeneratedYes
		case "unset", "false":
			files[i].Generated = machine.GeneratedNo
		}
	}
	return nil
}

// namesGenerated searches the attribute files of the changed files' directories and their parents.
func (r *repo) namesGenerated(src source, files []machine.ChangedFile) bool {
	if mentions(filepath.Join(r.git, "info", "attributes")) {
		return true
	}
	seen := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.Path); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if mentions(filepath.Join(src.top, filepath.FromSlash(dir), ".gitattributes")) {
				return true
			}
		}
	}
	return false
}

const mostAttributes = 1 << 20 // bytes of an attribute file that are read

func mentions(name string) bool {
	// git does not follow links here, and a pipe has no end
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := openPlain(name)
	if err != nil {
		return false
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, mostAttributes)) // an unreadable file mentions nothing
	return bytes.Contains(data, []byte(generatedAttr))
}
