package main

import (
	"context"
	"io"
	"sync"

	"github.com/ahphub/ahphub/e2e/fixture"
	"github.com/ahphub/ahphub/hub/changeset/diff"
)

type component interface {
	Render(ctx context.Context, w io.Writer) error
}

var (
	memoMu sync.Mutex
	memo   = map[string]*diff.File{}
)

// compute caches like the host, because the figures are for a warm server.
func compute(f fixture.File, space diff.Space) *diff.File {
	key := f.Path + "\x00" + string(f.Before[:min(64, len(f.Before))]) + string(f.After[:min(64, len(f.After))])
	key += string(rune('0' + space))
	memoMu.Lock()
	defer memoMu.Unlock()
	if memo[key] == nil {
		memo[key] = diff.Compute(f.Before, f.After, diff.Options{Path: f.Path, Space: space})
	}
	return memo[key]
}
