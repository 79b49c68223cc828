package changeset

import (
	"context"
	"path/filepath"
)

// Files lists the files in which a change would count, as absolute paths: known ones and those not ignored; at most so
// many.
func (s *Service) Files(ctx context.Context, session string, dirs []string, most int) (files []string, err error) {
	for _, dir := range outermost(dirs) {
		src, err := s.locate(ctx, dir)
		if err != nil {
			return files, err
		}
		paths, err := s.repo(session, dir).list(ctx, src)
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
