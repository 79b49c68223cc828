// Package review serves a session's changes: files and diffs, threads, drafts, verdicts, suggestions, exports, the
// worktree, and the edits of a tool call.
package review

import (
	"context"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/host/threads"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/recent"
	"github.com/ahphub/ahphub/hub/review"
)

// Pages are the pages, forms and room of a session's changes: files, threads, drafts, verdicts, the worktree.
type Pages struct {
	*site.Site
	Host      Host
	Reviews   Reviews
	Changes   Changes
	Worktrees Worktrees
	Docs      Docs // drafts and review marks; nil: none are stored
	diffs     *diff.Cache
	texts     recent.Values[ahp.URI, []byte] // versions of files with threads

	draftOrder draftOrder
}

// Parts is the host and its parts that the review's pages use.
type Parts struct {
	Host      Host
	Reviews   Reviews
	Changes   Changes
	Worktrees Worktrees
}

// New returns the pages of reviews, which own the cache of comparisons.
func New(s *site.Site, parts Parts, docs Docs, diffs *diff.Cache) *Pages {
	return &Pages{Site: s, Host: parts.Host, Reviews: parts.Reviews, Changes: parts.Changes,
		Worktrees: parts.Worktrees, Docs: docs, diffs: diffs, texts: recent.Values[ahp.URI, []byte]{Bytes: keptTexts}}
}

// Close stops syntax highlighting, and waits for the current file.
func (p *Pages) Close() { p.diffs.Close() }

// Host is the part of the host that these pages use.
type Host interface {
	site.Host
	Blobs(ctx context.Context, c core.Caller, session ahp.URI, uris []ahp.URI) map[ahp.URI][]byte
	CheckVersion(ctx context.Context, c core.Caller, uri ahp.URI) error
	SendAnnotations(ctx context.Context, c core.Caller, session ahp.URI, ids []string, text string, steer bool) error
}

// Reviews is the host's part for verdicts and suggestions.
type Reviews interface {
	ApplySuggestions(ctx context.Context, c core.Caller, session ahp.URI, refs []threads.SuggestionRef) error
	CommitSuggestions(ctx context.Context, c core.Caller, session ahp.URI, refs []threads.SuggestionRef) error
	Review(session ahp.URI) review.Review
	DismissVerdict(ctx context.Context, c core.Caller, session ahp.URI, who string) error
	GiveVerdict(ctx context.Context, c core.Caller, session ahp.URI, v threads.GivenVerdict) error
	MarkMentionsRead(ctx context.Context, who string, session ahp.URI, threads []string) error
}

// Changes is the host's part for changesets.
type Changes interface {
	Patch(ctx context.Context, c core.Caller, uri ahp.URI) ([]byte, error)
	InvokeOperation(ctx context.Context, c core.Caller, req ahp.InvokeChangesetOperationParams) (
		ahp.InvokeChangesetOperationResult, error)
	ReviewHunks(ctx context.Context, c core.Caller, uri ahp.URI, r changes.HunkReview) error
}

// Worktrees is the host's part for worktrees.
type Worktrees interface {
	Merge(ctx context.Context, c core.Caller, session ahp.URI) (commits int, err error)
	Remove(ctx context.Context, c core.Caller, session ahp.URI, force bool) error
	Standing(ctx context.Context, c core.Caller, session ahp.URI) (machine.WorktreeStanding, error)
}
