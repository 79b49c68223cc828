package changeset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/machine"
)

// Content returns a version of a file: ErrNoContent when no repository of the session has it,
// ErrTooLarge past the limit.
func (s *Service) Content(ctx context.Context, ws machine.Workspace, oid string) ([]byte, error) {
	if !machine.IsOID(oid) {
		return nil, fmt.Errorf("%w: %q is not the name of a version", machine.ErrNoContent, oid)
	}
	ctx, done := s.reading(ctx)
	defer done()
	for _, git := range s.repositories(ws) {
		r := &repo{s: s, git: git}
		data, err := r.content(ctx, oid)
		if !errors.Is(err, machine.ErrNoContent) {
			return data, err
		}
	}
	return nil, machine.ErrNoContent
}

// Contents returns the versions of many files, read in one run per repository. For a missing one,
// Content returns the reason.
func (s *Service) Contents(ctx context.Context, ws machine.Workspace, oids []string) map[string][]byte {
	ctx, done := s.reading(ctx)
	defer done()
	found := map[string][]byte{}
	for _, git := range s.repositories(ws) {
		r := &repo{s: s, git: git}
		var ask bytes.Buffer
		for _, oid := range oids {
			if machine.IsOID(oid) && found[oid] == nil {
				ask.WriteString(oid + "\n")
			}
		}
		if ask.Len() == 0 {
			break
		}
		out, err := r.run(ctx, source{top: r.git}, ask.Bytes(), "cat-file",
			"--batch=%(objectname) %(objecttype) %(objectsize)")
		if err != nil {
			break
		}
		takeContents(found, out)
	}
	return found
}

// takeContents parses the output of cat-file --batch: a header line, and after that of a blob its
// bytes and a newline.
func takeContents(found map[string][]byte, out []byte) {
	for len(out) > 0 {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		out = rest
		words := strings.Fields(string(head))
		if len(words) != 3 {
			continue // missing
		}
		n, err := strconv.Atoi(words[2])
		if err != nil || n < 0 || n >= len(out) {
			return
		}
		if words[1] == "blob" {
			found[words[0]] = out[:n:n]
		}
		out = out[n+1:]
	}
}

// content reads type, size and bytes in one run, which ends early at the size limit.
func (r *repo) content(ctx context.Context, oid string) ([]byte, error) {
	out, err := r.run(ctx, source{top: r.git}, []byte(oid+"\n"), "cat-file", "--batch=%(objecttype) %(objectsize)")
	if err != nil {
		return nil, err
	}
	head, data, _ := bytes.Cut(out, []byte("\n"))
	kind, size, _ := strings.Cut(string(head), " ")
	n, err := strconv.ParseInt(size, 10, 64)
	if kind != "blob" || err != nil || int64(len(data)) != n+1 {
		return nil, machine.ErrNoContent
	}
	return data[:n:n], nil
}
