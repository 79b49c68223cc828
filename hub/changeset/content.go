package changeset

import (
	"bytes"
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
	ctx, done := s.reading(ctx)
	defer done()
	for _, git := range s.repositories(session) {
		r := &repo{s: s, git: git}
		data, err := r.content(ctx, oid)
		if !errors.Is(err, ErrNoContent) {
			return data, err
		}
	}
	return nil, ErrNoContent
}

// content reads type, size and bytes in one run, which ends early when there are too many.
func (r *repo) content(ctx context.Context, oid string) ([]byte, error) {
	out, err := r.run(ctx, source{top: r.git}, []byte(oid+"\n"), "cat-file", "--batch=%(objecttype) %(objectsize)")
	if err != nil {
		return nil, err
	}
	head, data, _ := bytes.Cut(out, []byte("\n"))
	kind, size, _ := strings.Cut(string(head), " ")
	n, err := strconv.ParseInt(size, 10, 64)
	if kind != "blob" || err != nil || int64(len(data)) != n+1 {
		return nil, ErrNoContent
	}
	return data[:n:n], nil
}

// IsOID reports whether s can be the name of a git object.
func IsOID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
