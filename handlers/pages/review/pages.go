package review

import (
	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// reviewPages are the pages, forms and room of a session's changes: files, threads, drafts, verdicts, the worktree.
type Pages struct {
	*site.Site
	Docs  Docs // drafts and marks of people; nil keeps none
	diffs diff.Cache

	draftOrder draftOrder
}

// newReview makes the review's pages.
func New(s *site.Site, docs Docs) *Pages { return &Pages{Site: s, Docs: docs} }

// Close stops the reading of syntax, and waits for the file at hand.
func (p *Pages) Close() { p.diffs.Close() }
