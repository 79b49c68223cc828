package review

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/host/changes"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
)

const (
	computing = 3        // files compared concurrently for one page
	colourCap = 40_000   // changed lines of a changeset above which syntax is not highlighted
	keptTexts = 16 << 20 // bytes of commented files' texts that are cached for all pages
)

// builder builds the page's files from a changeset. It reads content with the caller's rights.
type builder struct {
	p      *Pages
	caller core.Caller
	look   look

	colourAt atomic.Int64 // bytes that may still be highlighted before the page is sent; the rest is highlighted later

	mu    sync.Mutex
	blobs map[ahp.URI][]byte // versions that were read ahead, until they are compared
}

// colourNow bytes highlight in a tenth of a second or less, so most reviews of a few files arrive highlighted.
const colourNow = 48 << 10

// built is a file with its comparison, which tells whether its rows have changed.
type built struct {
	part.DiffFile
	src *diff.File
}

func newBuilder(p *Pages, c core.Caller, l look) *builder {
	return &builder{p: p, caller: c, look: l}
}

// files compares all files of a changeset, ordered by path.
func (b *builder) files(ctx context.Context, s *ahp.ChangesetState, dirs []ahp.URI,
	threads []part.Thread) ([]built, error) {
	out := make([]built, len(s.Files))
	add, del := sum(s.Files)
	ops := fileOpsOf(s)
	defer b.p.diffs.Hold()() // a reader is waiting
	b.colourAt.Store(colourNow)
	b.readAhead(ctx, s.Files, dirs, add+del <= colourCap)
	var g errgroup.Group
	g.SetLimit(computing)
	for _, i := range inOrder(s.Files) { // in page order: the first files are highlighted first
		g.Go(func() error {
			out[i] = b.file(ctx, &s.Files[i], dirs, add+del <= colourCap)
			out[i].Ops = ops
			return ctx.Err()
		})
	}
	err := g.Wait()
	b.mu.Lock()
	b.blobs = nil
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(x, y built) int { return diff.ComparePaths(x.Path, y.Path) })
	if add+del <= colourCap {
		moves(out)
	}
	for i := range out {
		b.settleThreads(ctx, s, &out[i], threads)
	}
	return out, nil
}

// inOrder returns the indices of files, ordered by path.
func inOrder(files []ahp.ChangesetFile) []int {
	order, paths := make([]int, len(files)), make([]string, len(files))
	for i := range files {
		order[i], paths[i] = i, files[i].ID
		if side := cmp.Or(files[i].Edit.After, files[i].Edit.Before); side != nil {
			paths[i] = part.FilePath(side.URI)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return diff.ComparePaths(paths[a], paths[b]) })
	return order
}

// file builds one file. An unreadable file gets a note; the rest of the page is unaffected.
func (b *builder) file(ctx context.Context, f *ahp.ChangesetFile, dirs []ahp.URI, colours bool) built {
	d := built{DiffFile: part.DiffFile{ID: f.ID, Base: b.look.base() + "/changes", Query: b.look.query(),
		Reviewed: f.Reviewed != nil && *f.Reviewed}}
	describe(&d.DiffFile, f, dirs)
	if d.Reviewed {
		if by := changes.ReadFileNote(f.Meta).By; by != nil {
			d.ReviewedBy = by.Name
		}
		d.Shut = true
	}
	if lines := d.Add + d.Del; lines > foldLines {
		d.Fold = part.Count(lines) + " changed lines"
		return d
	}
	b.compare(ctx, &d, f, colours)
	if !d.Reviewed {
		b.marks(ctx, &d.DiffFile, changes.ReadFileNote(f.Meta))
	}
	return d
}

const foldLines = 20_000

// describe fills in what the protocol provides about a file, without reading it.
func describe(d *part.DiffFile, f *ahp.ChangesetFile, dirs []ahp.URI) {
	before, after := f.Edit.Before, f.Edit.After
	switch {
	case before == nil && after == nil:
		d.Path, d.Status, d.Note = f.ID, part.DiffModified, "No version of this file is available."
	case before == nil:
		d.Path, d.Status = site.RelativePath(after.URI, dirs), part.DiffAdded
	case after == nil:
		d.Path, d.Status = site.RelativePath(before.URI, dirs), part.DiffDeleted
	default:
		d.Path, d.Status = site.RelativePath(after.URI, dirs), part.DiffModified
		if before.URI != after.URI {
			d.OldPath, d.Status = site.RelativePath(before.URI, dirs), part.DiffRenamed
		}
	}
	if n := f.Edit.Diff; n != nil {
		d.Add, d.Del = int(site.OrZero(n.Added)), int(site.OrZero(n.Removed))
	}
	own := changes.ReadFileNote(f.Meta)
	d.Versions = strings.TrimSpace(cmp.Or(own.OldOID, "-") + " " + cmp.Or(own.NewOID, "-"))
	d.OldMode, d.NewMode, d.Stale, d.Staged = own.OldMode, own.NewMode, own.Stale, own.Staged
	if own.Skipped != "" {
		d.Note = site.Sentence(own.Skipped)
	}
	switch {
	case own.Outside:
		d.Tag = "Edited manually"
	case own.Overlap:
		d.Tag = "Another session ran here"
	}
	if d.OldMode == d.NewMode || before == nil || after == nil {
		d.OldMode, d.NewMode = "", ""
	}
	switch own.NewMode {
	case "120000":
		d.Form = part.DiffSymlink
	case "160000":
		d.Form = part.DiffSubmodule
	}
}

// compare reads both versions and compares them, or uses the cache if their names identify the content.
func (b *builder) compare(ctx context.Context, d *built, f *ahp.ChangesetFile, colours bool) {
	if d.Note != "" {
		return
	}
	load := func(ctx context.Context) (old, new []byte, err error) { return b.versions(ctx, f) }
	key := b.keyOf(f, d.Path, colours)
	compute := b.p.diffs.Compute
	if colours && !b.takeColours(f) {
		compute = b.p.diffs.ComputePlain
	}
	file, err := compute(ctx, key, load)
	if err != nil {
		d.Note = "This file can't be read: " + site.Classify(err).Text
		return
	}
	d.OldSize, d.NewSize = sizeOf(f.Edit.Before), sizeOf(f.Edit.After)
	d.OldPixels, d.NewPixels = file.OldPixels, file.NewPixels
	d.src = file
	kind := foldedKind(d.Path, changes.ReadFileNote(f.Meta).Generated, file)
	if media := imageType(d.Path); media != "" && (file.Binary || media == svgType) {
		d.OldURL, d.NewURL = b.imageURL(f.Edit.Before, f, "before"), b.imageURL(f.Edit.After, f, "after")
	}
	switch {
	case file.Binary:
		d.Form = part.DiffBinary
		if d.OldURL+d.NewURL != "" {
			d.Form = part.DiffImage
		}
	case file.TooBig:
		d.Fold = part.Count(file.Additions+file.Deletions) + " changed lines"
		if file.Additions+file.Deletions == 0 {
			d.Fold = part.Size(max(d.OldSize, d.NewSize))
		}
	case kind != "":
		d.Add, d.Del, d.Fold = file.Additions, file.Deletions, kind
	default:
		d.Diff = file
		d.Add, d.Del = file.Additions, file.Deletions
	}
}

// takeColours reports whether a file is highlighted before the page is sent.
func (b *builder) takeColours(f *ahp.ChangesetFile) bool {
	size := sizeOf(f.Edit.Before) + sizeOf(f.Edit.After)
	if size == 0 {
		size = 16 << 10 // unknown
	}
	return b.colourAt.Add(-size) >= 0
}

func (b *builder) imageURL(side *ahp.FileEditSide, f *ahp.ChangesetFile, name string) string {
	if side == nil {
		return ""
	}
	return b.look.base() + "/changes/image?" + b.look.query() + "&file=" + part.DiffKey(f.ID) + "&side=" + name
}

func contentOf(s *ahp.FileEditSide) string {
	if s == nil {
		return ""
	}
	return s.Content.URI + "#" + s.Content.Nonce
}

func sizeOf(s *ahp.FileEditSide) int64 {
	if s == nil || s.Content.SizeHint == nil {
		return 0
	}
	return *s.Content.SizeHint
}

// read returns the content of one side; nil when there is none.
func (b *builder) read(ctx context.Context, s *ahp.FileEditSide) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	if data, ok := b.takeBlob(s.Content.URI); ok {
		return data, nil
	}
	return b.p.readResource(ctx, b.caller, b.look.session, s.Content.URI)
}

const mostAhead = 16 << 20 // bytes of files to read ahead

// readAhead reads the versions to compare with one git program; a program for each version takes 5 ms.
func (b *builder) readAhead(ctx context.Context, files []ahp.ChangesetFile, dirs []ahp.URI, colours bool) {
	var uris []ahp.URI
	var bytes int64
	for i := range files {
		var d part.DiffFile
		describe(&d, &files[i], dirs)
		sides := files[i].Edit
		if d.Note != "" || d.Add+d.Del > foldLines || b.p.diffs.Has(b.keyOf(&files[i], d.Path, colours)) {
			continue
		}
		size := sizeOf(sides.Before) + sizeOf(sides.After)
		if size == 0 || bytes+size > mostAhead {
			continue
		}
		bytes += size
		for _, side := range []*ahp.FileEditSide{sides.Before, sides.After} {
			if side != nil {
				uris = append(uris, side.Content.URI)
			}
		}
	}
	if len(uris) < 4 {
		return // not worth it for one or two files
	}
	blobs := b.p.Host.Blobs(ctx, b.caller, b.look.session, uris)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blobs = blobs
}

// takeBlob removes and returns a version that was read ahead.
func (b *builder) takeBlob(uri ahp.URI) ([]byte, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.blobs[uri]
	delete(b.blobs, uri)
	return data, ok
}

// keyOf returns the cache key of a file's comparison.
func (b *builder) keyOf(f *ahp.ChangesetFile, path string, colours bool) diff.Key {
	o := diff.Options{Space: b.look.space}
	if colours {
		o.Path = path
	}
	return diff.Key{Old: contentOf(f.Edit.Before), New: contentOf(f.Edit.After), Options: o}
}

// versions returns the contents of both sides of a file.
func (b *builder) versions(ctx context.Context, f *ahp.ChangesetFile) (old, new []byte, err error) {
	if old, err = b.read(ctx, f.Edit.Before); err != nil {
		return nil, nil, err
	}
	new, err = b.read(ctx, f.Edit.After)
	return old, new, err
}

// readResource reads a resource with the caller's rights.
func (p *Pages) readResource(ctx context.Context, c core.Caller, channel, uri ahp.URI) ([]byte, error) {
	res, err := p.Files.ResourceRead(ctx, c, ahp.ResourceReadParams{Channel: channel, URI: uri,
		Encoding: ahp.ContentEncodingBase64})
	if err != nil {
		return nil, err
	}
	if res.Encoding == ahp.ContentEncodingBase64 {
		return base64.StdEncoding.DecodeString(res.Data)
	}
	return []byte(res.Data), nil
}

// model assembles the page: everything that is the same for all viewers of this look.
func (b *builder) model(files []built, cs *ahp.ChangesetState, s *ahp.SessionState,
	threads []part.Thread) *page.Changes {
	v := &page.Changes{Base: b.look.base(), Query: b.look.query(), Status: string(cs.Status), Space: b.look.space,
		Threads: threads, View: part.DiffView{Split: b.look.split, Ops: hunkOps(cs)}, Ops: opsOf(cs),
		Scopes: b.p.scopes(b.caller.Principal, b.look, s), Running: b.p.running(b.look.session)}
	v.Turns = b.p.turns(b.look, s)
	v.Commit = page.LastCommit(changes.ReadLastCommit(s.Meta))
	if b.caller.Scope.IsWhole() {
		v.Chats = b.p.chats(b.look, s)
	}
	if from, to, ok := b.look.turns(); ok {
		v.FromTurn, v.ToTurn = from, to
	}
	if cs.Error != nil {
		v.Problem = site.Sentence(cs.Error.Message)
	}
	if cs.Status == ahp.ChangesetStatusRecomputing { // the files are complete; updates follow
		v.Status = string(ahp.ChangesetStatusReady)
	}
	if w := changes.ReadWatching(s.Meta); w.Polling {
		v.Late = fmt.Sprintf("Changes can take %d seconds or more to appear. %s", w.Seconds, site.Sentence(w.Why))
	}
	if len(cs.Files) > 0 && changes.ReadFileNote(cs.Files[0].Meta).Overlap { // all files of a turn have the same mark
		v.Beside = freshWorktree(s)
	}
	for i := range files {
		v.Files = append(v.Files, files[i].DiffFile)
	}
	v.Settle()
	return v
}
