package changeset

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Content returns a version of a file: ErrNoContent when no repository of the session has it, ErrTooLarge past the limit.
func (s *Service) Content(ctx context.Context, session, oid string) ([]byte, error) {
	if !IsOID(oid) {
		return nil, fmt.Errorf("%w: %q is not the name of a version", ErrNoContent, oid)
	}
	for _, git := range s.repositories(session) {
		r := &repo{s: s, git: git}
		data, err := r.content(ctx, oid)
		if !errors.Is(err, ErrNoContent) {
			return data, err
		}
	}
	return nil, ErrNoContent
}

// content asks for type and size first, so that nothing large is read in vain.
func (r *repo) content(ctx context.Context, oid string) ([]byte, error) {
	src := source{top: r.git}
	out, err := r.run(ctx, src, []byte(oid+"\n"), "cat-file", "--batch-check=%(objecttype) %(objectsize)")
	if err != nil {
		return nil, err
	}
	kind, size, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if kind != "blob" {
		return nil, ErrNoContent
	}
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return nil, ErrNoContent
	}
	if n > min(r.s.cfg.ContentBytes, int64(r.s.cfg.OutputBytes)) {
		return nil, fmt.Errorf("%w: this version has %d bytes", ErrTooLarge, n)
	}
	return r.run(ctx, src, nil, "cat-file", "blob", oid)
}

// IsOID tells whether s can be the name of a git object.
func IsOID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
