package review

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/ahphub/ahphub/handlers/live"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

// changesRoom updates open review pages of one look. Comparing files reads them, so it happens in a separate
// goroutine; the room then compares the last rendered model with the new one, and patches the differences.
type changesRoom struct {
	b    *builder
	wake chan struct{} // capacity 1: newer states are waiting

	mu     sync.Mutex
	states live.States // the newest states
	news   int         // how many states there were
	next   *drawing
	last   *drawing // what open pages show
	owed   bool     // a page of an earlier run requested the whole room before there was a drawing
}

// drawing is one whole model and its files.
type drawing struct {
	page  *page.Changes
	files []built
	news  int // 1: drawn from the states of the first page
}

// NewRoom opens "changes:<session>:<scope>:<how>".
func (p *Pages) NewRoom(ctx context.Context, who access.Principal, rest []string) (live.Room, error) {
	l, err := lookNamed(p, rest)
	if err != nil {
		return nil, err
	}
	if l, err = p.resolveScope(ctx, who, l); err != nil {
		return nil, err
	}
	if err := p.Prepare(ctx, who, l.session, l.changeset(), l.annotations()); err != nil {
		return nil, err
	}
	b := newBuilder(p, core.Caller{Principal: who, ClientID: "page:" + who.ID}, l)
	return &changesRoom{b: b, wake: make(chan struct{}, 1)}, nil
}

// Channels implements live.Room. The session provides its catalogue and directories.
func (c *changesRoom) Channels() []ahp.URI {
	return []ahp.URI{c.b.look.changeset(), c.b.look.annotations(), c.b.look.session}
}

// Opened records the states of the first page.
func (c *changesRoom) Opened(s live.States) { c.newest(s) }

func (c *changesRoom) newest(s live.States) {
	c.mu.Lock()
	c.states = s.Copy()
	c.news++
	c.mu.Unlock()
	c.wakeUp()
}

func (c *changesRoom) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default: // already awake
	}
}

// Watch runs the goroutine that compares, also when a machine connects or disconnects; ping sends the result.
func (c *changesRoom) Watch(ping func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	unwatch := c.b.p.WatchMachines(c.again)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-c.wake:
				if c.draw(ctx) {
					ping()
				}
			}
		}
	}()
	return func() { unwatch(); cancel(); <-ended }
}

// again draws the same states again.
func (c *changesRoom) again() {
	c.mu.Lock()
	drawn := c.states != nil
	c.news++
	c.mu.Unlock()
	if drawn {
		c.wakeUp()
	}
}

func (c *changesRoom) draw(ctx context.Context) bool {
	c.mu.Lock()
	states, news := c.states, c.news
	c.mu.Unlock()
	m, files, err := c.b.draw(ctx, states)
	if err != nil {
		return false // reloading the page shows the error
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = &drawing{m, files, news}
	return true
}

// Whole renders everything that patches replace; nil before the first drawing.
func (c *changesRoom) Whole(live.States) []live.Patch {
	d := c.newer()
	if d == nil {
		return nil
	}
	return []live.Patch{
		live.Replace("files", page.FilesPart(d.page)),
		live.Replace("tree", page.Tree(d.page)),
		live.Replace("review-counts", page.Counts(d.page)),
		live.Replace("scope-now", page.ScopeNow(d.page)),
		live.Replace("scope-list", page.ScopeList(d.page)),
		live.Replace("turns", page.TurnsPicker(d.page)),
		live.Replace("whose", page.ChatPicker(d.page)),
		live.Replace("hunk-tools", page.HunkTools(d.page)),
		live.Replace("ops", page.OpsBar(d.page)),
		live.Replace("more-ops", page.MoreOps(d.page)),
		live.Replace("op-notes", page.OpNotes(d.page)),
	}
}

func (c *changesRoom) newer() *drawing {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		return c.next
	}
	c.owed = c.last == nil
	return c.last
}

// Changed passes newer states to the goroutine, and its result to the pages.
func (c *changesRoom) Changed(s live.States, news live.News) []live.Patch {
	if slices.ContainsFunc(news.Envelopes, drawn) {
		c.newest(s)
	}
	c.mu.Lock()
	last, next, owed := c.last, c.next, c.owed
	if next != nil {
		c.last, c.next = next, nil
	}
	c.mu.Unlock()
	switch {
	case next == nil, last == nil && next.news == 1 && !owed:
		return nil
	case last == nil:
		return c.Whole(s)
	}
	return difference(last, next)
}

// drawn reports whether a page shows the change of an envelope. Recomputing is too short to show, and its result
// follows.
func drawn(e *hub.Envelope) bool {
	a, ok := e.Action.(*ahp.ChangesetStatusChangedAction)
	return !ok || a.Status != ahp.ChangesetStatusRecomputing
}

// difference returns the patches from one drawing to another.
func difference(old, now *drawing) (out []live.Patch) {
	out = append(out, fileDifference(old, now)...)
	out = append(out, threadDifference(old.page.Threads, now.page.Threads, now.page)...)
	if countsOf(old.page) != countsOf(now.page) {
		out = append(out, live.Replace("review-counts", page.Counts(now.page)))
	}
	if !reflect.DeepEqual(old.page.Scopes, now.page.Scopes) {
		out = append(out, live.Replace("scope-now", page.ScopeNow(now.page)),
			live.Replace("scope-list", page.ScopeList(now.page)))
	}
	if !reflect.DeepEqual(old.page.Turns, now.page.Turns) {
		out = append(out, live.Replace("turns", page.TurnsPicker(now.page)))
	}
	if !slices.Equal(old.page.Chats, now.page.Chats) {
		out = append(out, live.Replace("whose", page.ChatPicker(now.page)),
			live.Replace("scope-now", page.ScopeNow(now.page)))
	}
	if !now.page.SameOps(old.page) {
		out = append(out, live.Replace("ops", page.OpsBar(now.page)), live.Replace("more-ops", page.MoreOps(now.page)),
			live.Replace("op-notes", page.OpNotes(now.page)))
	}
	if !slices.Equal(old.page.View.Ops, now.page.View.Ops) {
		out = append(out, live.Replace("hunk-tools", page.HunkTools(now.page)))
	}
	return out
}

type counts struct {
	reviewed, files, open, unsent int
	running                       bool
	digest                        string
}

func countsOf(v *page.Changes) counts {
	return counts{v.Reviewed(), len(v.Files), v.Open(), v.Unsent, v.Running, v.Digest}
}

func fileDifference(old, now *drawing) (out []live.Patch) {
	had := map[string]*built{}
	for i := range old.files {
		had[old.files[i].ID] = &old.files[i]
	}
	listed := len(old.files) != len(now.files)
	for i := len(now.files) - 1; i >= 0; i-- { // backwards, so that the file after a new one is already on the page
		f := &now.files[i]
		was := had[f.ID]
		delete(had, f.ID)
		if was == nil {
			listed = true
			out = append(out, insert(now, i))
			continue
		}
		out = append(out, changedFile(was, f, now.page.View)...)
	}
	for _, gone := range had {
		listed = true
		out = append(out, live.Remove("file-"+gone.Key()))
	}
	if listed || old.page.Status != now.page.Status || old.page.Problem != now.page.Problem ||
		old.page.Late != now.page.Late || old.page.Beside != now.page.Beside {
		out = append(out, live.Replace("tree", page.Tree(now.page)), live.Replace("changes-state",
			page.StatePart(now.page)))
	} else if old.page.Commit != now.page.Commit ||
		len(now.files) == 0 && !reflect.DeepEqual(old.page.Scopes, now.page.Scopes) {
		out = append(out, live.Replace("changes-state", page.StatePart(now.page)))
	}
	return out
}

func insert(now *drawing, i int) live.Patch {
	box := part.DiffBox(&now.files[i].DiffFile, now.page.View)
	if i+1 < len(now.files) {
		return live.Before("file-"+now.files[i+1].Key(), box)
	}
	return live.Append("files", box)
}

// sameRows reports whether two comparisons have the same rows, highlighting aside. Open pages get
// new highlighting when they reload, since replacing a file would disturb its reader.
func sameRows(a, b *diff.File) bool {
	return a == b || a != nil && b != nil && a.SameRows(b)
}

// changedFile sends a whole file when its rows changed, and only its head for marks and counts.
func changedFile(was, f *built, v part.DiffView) []live.Patch {
	if !sameRows(was.src, f.src) || was.Fold != f.Fold || was.Note != f.Note || was.NewURL != f.NewURL ||
		was.OldURL != f.OldURL || was.NewMode != f.NewMode || was.Path != f.Path || !slices.Equal(was.Moved, f.Moved) {
		return []live.Patch{live.Replace("file-"+f.Key(), part.DiffBox(&f.DiffFile, v)), live.Replace("ft-"+f.Key(),
			page.TreeLine(&f.DiffFile))}
	}
	if was.Tag != f.Tag || was.Reviewed != f.Reviewed || was.ReviewedBy != f.ReviewedBy || was.Stale != f.Stale ||
		was.Staged != f.Staged || !slices.Equal(was.Ops, f.Ops) || !maps.Equal(was.Done, f.Done) ||
		openOf(was.Threads) != openOf(f.Threads) {
		return []live.Patch{live.Replace("fh-"+f.Key(), part.DiffHead(&f.DiffFile)), live.Replace("ft-"+f.Key(),
			page.TreeLine(&f.DiffFile))}
	}
	return nil
}

func openOf(list []part.Thread) (n int) {
	for i := range list {
		if !list[i].Resolved {
			n++
		}
	}
	return n
}

// threadDifference sends new threads to a place from which the page's script moves them to their lines.
func threadDifference(old, now []part.Thread, v *page.Changes) (out []live.Patch) {
	had := map[string]*part.Thread{}
	for i := range old {
		had[old[i].ID] = &old[i]
	}
	for i := range now {
		t := &now[i]
		was := had[t.ID]
		delete(had, t.ID)
		switch {
		case was == nil:
			out = append(out, live.Append("pool", part.ThreadBox(t)))
		case was.File != t.File || was.Where() != t.Where() || was.Outdated != t.Outdated:
			out = append(out, live.Remove("thr-"+t.ID), live.Append("pool", part.ThreadBox(t)))
		case !reflect.DeepEqual(was, t):
			out = append(out, live.Replace("thread-"+t.ID, part.ThreadCard(t)))
		}
	}
	for id := range had {
		out = append(out, live.Remove("thr-"+id))
	}
	return out
}
