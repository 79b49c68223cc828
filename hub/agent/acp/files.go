package acp

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/jsonrpc"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/resource"
)

const codeNotFound = -32002

// files returns the session's directories without the host's own data: through the host a program
// reaches no other files.
func (s *session) files() resource.Files {
	reach := machine.FileReach{Roots: s.spec.Dirs, Worktrees: s.spec.Worktrees}
	return resource.Files{FileReach: reach, Guard: s.guard}
}

func (s *session) readFile(_ context.Context, q fileParams) (any, error) {
	got, err := s.files().Read(resource.URI(q.Path))
	if err != nil {
		return nil, fileError(err)
	}
	if !utf8.Valid(got.Data) {
		return nil, errors.New(q.Path + " is not a text file")
	}
	return map[string]string{"content": excerpt(string(got.Data), q.Line, q.Limit)}, nil
}

// excerpt returns limit lines from a line on, counted from 1.
func excerpt(s string, line, limit *int) string {
	if line == nil && limit == nil {
		return s
	}
	lines := strings.SplitAfter(s, "\n")
	if line != nil {
		lines = lines[min(max(*line-1, 0), len(lines)):]
	}
	if limit != nil {
		lines = lines[:min(max(*limit, 0), len(lines))]
	}
	return strings.Join(lines, "")
}

func (s *session) writeFile(_ context.Context, q fileParams) (any, error) {
	if q.Content == nil {
		return nil, badParams(errors.New("content is missing"))
	}
	err := s.files().Mkdir(resource.URI(filepath.Dir(q.Path)))
	if err == nil {
		err = s.files().Put(ahp.ResourceWriteParams{URI: resource.URI(q.Path), Data: *q.Content,
			Encoding: ahp.ContentEncodingUtf8})
	}
	if err != nil {
		return nil, fileError(err)
	}
	return struct{}{}, nil
}

// fileError converts an error to the program's protocol.
func fileError(err error) error {
	known, ok := errors.AsType[*ahp.Error](err)
	if !ok {
		return err
	}
	code := jsonrpc.CodeInvalidParams
	if known.Code == ahp.CodeNotFound {
		code = codeNotFound
	}
	return &jsonrpc.Error{Code: code, Message: known.Message}
}
