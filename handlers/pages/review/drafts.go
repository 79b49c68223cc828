package review

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// Docs stores what belongs to one person and is on no channel: drafts, read marks, and which threads were sent.
type Docs interface {
	Put(ctx context.Context, bucket, key string, v []byte) error
	Delete(ctx context.Context, bucket, key string) error
	Each(ctx context.Context, bucket string, visit func(key string, value []byte) error) error
}

const (
	mostDrafts = 500      // of one person in one session
	mostText   = 64 << 10 // bytes of a comment; the limit of the host
)

// Buckets are per session, and per person for personal data, so that reading one reads no others.
func draftBucket(short string, who access.Principal) string { return "draft/" + short + "/" + who.ID }
func seenBucket(short string, who access.Principal) string {
	return "thread-seen/" + short + "/" + who.ID
}
func sentBucket(short string) string { return "thread-sent/" + short }

// draft is a comment that only its author sees. Lines are those of the changeset it was written for.
type draft struct {
	ID    string `json:"id"`
	Scope string `json:"scope"`
	File  string `json:"file"` // key of the file
	Path  string `json:"path"`
	At    string `json:"at"` // "R12", "L3-L5", "" for the file
	Text  string `json:"text"`
	Quote string `json:"quote"`

	Version string `json:"version,omitempty"` // URI of the version that the lines belong to
}

// drafts lists a person's drafts of a session, oldest first.
func (p *Pages) drafts(ctx context.Context, short string, who access.Principal) ([]draft, error) {
	if p.Docs == nil {
		return nil, nil
	}
	var out []draft
	err := p.Docs.Each(ctx, draftBucket(short, who), func(_ string, b []byte) error {
		var x draft
		if json.Unmarshal(b, &x) == nil {
			out = append(out, x)
		}
		return nil
	})
	slices.SortFunc(out, func(a, b draft) int { return strings.Compare(a.ID, b.ID) })
	return out, err
}

func (p *Pages) putDraft(ctx context.Context, short string, who access.Principal, d draft) error {
	if p.Docs == nil {
		return site.BadRequest("Drafts are turned off on this server. Post the comment instead.")
	}
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return p.Docs.Put(ctx, draftBucket(short, who), d.ID, b)
}

// dropDraft deletes a draft; later saves of it are ignored.
func (p *Pages) dropDraft(ctx context.Context, short string, who access.Principal, id string) error {
	if p.Docs == nil || id == "" {
		return nil
	}
	turn := p.draftOrder.of(draftBucket(short, who), id)
	turn.Lock()
	defer turn.Unlock()
	if err := p.Docs.Delete(ctx, draftBucket(short, who), id); err != nil {
		return err
	}
	turn.gone = true
	return nil
}

// seen returns how many comments of each thread a person has read.
func (p *Pages) seen(ctx context.Context, short string, who access.Principal) map[string]int {
	out := map[string]int{}
	if p.Docs == nil {
		return out
	}
	_ = p.Docs.Each(ctx, seenBucket(short, who), func(id string, b []byte) error { // on failure everything is unread
		out[id], _ = strconv.Atoi(string(b)) // not a number: unread
		return nil
	})
	return out
}

// sent returns the threads of a session that were sent to an agent.
func (p *Pages) sent(ctx context.Context, short string) map[string]bool {
	out := map[string]bool{}
	if p.Docs == nil {
		return out
	}
	_ = p.Docs.Each(ctx, sentBucket(short), func(id string, _ []byte) error { // on failure they can be sent again
		out[id] = true
		return nil
	})
	return out
}

// personal adds this person's own data to a review.
func (p *Pages) personal(ctx context.Context, v *page.Changes, l look, who access.Principal) error {
	list, err := p.drafts(ctx, l.short, who)
	if err != nil {
		return err
	}
	for _, d := range list {
		v.Drafts = append(v.Drafts, pageDraft(d))
	}
	seen := p.seen(ctx, l.short, who)
	for i := range v.Threads {
		unread(&v.Threads[i], seen, who)
	}
	for i := range v.Files {
		for j := range v.Files[i].Threads {
			unread(&v.Files[i].Threads[j], seen, who)
		}
	}
	v.Me = who.ID
	if who.Scope.IsWhole() {
		v.Mine, v.MaySend = p.OwnVerdict(l.session, who), who.Has(access.RightPrompt)
		v.MaySubmit = who.Has(access.RightReview)
	}
	return nil
}

func pageDraft(d draft) page.Draft {
	side, from, to, _ := part.ParseWhere(d.At)
	return page.Draft{ID: d.ID, File: d.File, Path: d.Path, Side: side, From: from, To: to, Text: d.Text}
}

// unread marks a thread if its last comment is unread and by someone else.
func unread(t *part.Thread, seen map[string]int, who access.Principal) {
	n := len(t.Entries)
	t.Unread = n > seen[t.ID] && n > 0 && t.Entries[n-1].ByID != who.ID
}
