package changeset

import (
	"context"
	"path/filepath"

	"github.com/ahphub/ahphub/hub/machine"
)

// Files lists up to most files whose changes count, as absolute paths: known ones and those not
// ignored.
func (s *Service) Files(ctx context.Context, ws machine.Workspace, dirs []string,
	most int) (files []string, err error) {
	ctx, done := s.reading(ctx)
	defer done()
	if dirs, err = distinct(dirs); err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		src, err := s.locate(ctx, ws, dir)
		if err != nil {
			return files, err
		}
		paths, err := s.repo(ws, dir).list(ctx, src)
		if err != nil {
			return files, err
		}
		for _, p := range paths {
			if len(files) == most {
				return files, nil
			}
			if full := filepath.Join(src.top, filepath.FromSlash(p)); inside(full, src.dir) {
				files = append(files, full)
			}
		}
	}
	return files, nil
}

// list returns every file whose changes count: known ones and those not ignored.
func (r *repo) list(ctx context.Context, src source) ([]string, error) {
	unlock, err := r.s.lock(ctx, r.git)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := src.checkTree(ctx); err != nil {
		return nil, err
	}
	if err := r.prepare(src); err != nil {
		return nil, err
	}
	args := []string{"ls-files", "-z", "--cached", "--others", "--exclude-standard"}
	out, err := r.run(ctx, src, nil, append(args, src.pathspec()...)...)
	return fields(out), err
}
