package changes

import (
	"context"
	"encoding/json"
	"mime"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/access"
	"github.com/ahphub/ahphub/hub/ahp"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/machine"
	"github.com/ahphub/ahphub/hub/version"
)

// FileNote is what the host stores about a changed file under its own key of `_meta`.
type FileNote struct {
	Status  string `json:"status"` // by git's letters: A, M, D, R or T
	OldMode string `json:"oldMode,omitempty"`
	NewMode string `json:"newMode,omitempty"`
	Binary  bool   `json:"binary,omitempty"`

	Generated machine.Generated `json:"generated,omitempty"` // from .gitattributes: "yes" or "no"

	Skipped string `json:"skipped,omitempty"` // why the content is not stored
	Overlap bool   `json:"overlap,omitempty"` // another turn ran in the same directories
	Outside bool   `json:"outside,omitempty"` // changed only outside of turns
	OldOID  string `json:"oldOid,omitempty"`
	NewOID  string `json:"newOid,omitempty"`
	Staged  string `json:"staged,omitempty"` // how much of an uncommitted change is in the index: "part" or "all"

	By    *core.Identity `json:"by,omitempty"` // the reviewer, if reviewed or stale
	At    *time.Time     `json:"at,omitempty"`
	Stale bool           `json:"stale,omitempty"` // changed since it was reviewed
	Seen  *SeenSides     `json:"seen,omitempty"`  // the reviewed sides, while stale
	// hunks that were reviewed separately, including ones that are gone
	Hunks []HunkMark `json:"hunks,omitempty"`

	Guests access.Hiding `json:"guests,omitempty"` // how it is hidden from guests
}

// SeenSides are the URIs of a file's reviewed versions; "" for a side that did not exist.
type SeenSides struct {
	Before ahp.URI `json:"before,omitempty"`
	After  ahp.URI `json:"after,omitempty"`
}

// seenSides returns the versions for which a mark was set.
func seenSides(short, file, hash string) *SeenSides {
	side := func(oid string) ahp.URI {
		if !machine.IsOID(oid) {
			return ""
		}
		return version.Ref{Session: short, OID: oid, Path: file}.URI()
	}
	old, new, _ := strings.Cut(hash, "..")
	return &SeenSides{Before: side(old), After: side(new)}
}

// ReadFileNote returns the host's note on a changed file.
func ReadFileNote(m ahp.Meta) (n FileNote) {
	_ = json.Unmarshal(m[core.MetaKey], &n) // absent: zero value
	return n
}

// Version identifies the reviewed comparison by both sides.
func (n FileNote) Version() string { return n.OldOID + ".." + n.NewOID }

const mostChangedFiles = 10_000

// changesetFile converts a changed file to the protocol's type.
func changesetFile(short string, f machine.ChangedFile, overlap bool) (ahp.ChangesetFile, FileNote) {
	note := FileNote{Status: string(rune(f.Status)), OldMode: f.OldMode, NewMode: f.NewMode, Binary: f.Binary,
		Generated: f.Generated, Skipped: f.Skipped,
		Overlap: overlap, OldOID: f.OldOID, NewOID: f.NewOID}
	out := ahp.ChangesetFile{Reviewed: ahp.Ptr(false), Edit: ahp.FileEdit{
		Diff: &ahp.FileEditDiffStats{Added: ahp.Ptr(int64(f.Additions)), Removed: ahp.Ptr(int64(f.Deletions))}}}
	if f.OldMode != "" {
		out.Edit.Before = editSide(short, f.OldName(), f.OldMode, f.OldOID, f.OldSize, f.Binary)
		out.ID = out.Edit.Before.URI
	}
	if f.NewMode != "" {
		out.Edit.After = editSide(short, f.Name(), f.NewMode, f.NewOID, f.NewSize, f.Binary)
		out.ID = out.Edit.After.URI
	}
	return out, note
}

func editSide(short, name, mode, oid string, size int64, binary bool) *ahp.FileEditSide {
	side := &ahp.FileEditSide{URI: core.FileURI(name)}
	side.Content = ahp.ContentRef{URI: version.Ref{Session: short, OID: oid, Path: name, Kind: VersionKind(mode)}.URI(),
		SizeHint: &size, ContentType: mediaType(name, mode, binary)}
	if oid == "" { // not stored; only the file itself has it
		side.Content.URI = side.URI
	}
	return side
}

// VersionKind returns the version.Ref.Kind of a file with a mode.
func VersionKind(mode string) string {
	if mode == machine.ModeSubmodule {
		return version.Commit
	}
	return ""
}

func mediaType(name, mode string, binary bool) string {
	switch named := mime.TypeByExtension(path.Ext(name)); {
	case mode == machine.ModeSymlink || mode == machine.ModeSubmodule:
		return "text/plain"
	case binary && named != "":
		return named
	case binary:
		return "application/octet-stream"
	}
	return "text/plain"
}

// publish updates a channel with computed changes.
func (p *Part) publish(ctx context.Context, l *ledger, uri ahp.URI, scope changeScope, files []machine.ChangedFile,
	overlap bool,
	hide *hiding, failed error) {
	var can offer
	var hidden map[string]access.Hiding
	if failed == nil {
		can, failed = p.offer(ctx, l, uri, scope, files)
	}
	if failed == nil {
		hidden, failed = hide.hideFiles(files)
	}
	if ctx.Err() != nil {
		return
	}
	err := p.core.Do(ctx, func(tx *hub.Tx) {
		s, ok := hub.StateOf[*ahp.ChangesetState](tx, uri)
		if !ok {
			return
		}
		if keepShown(tx, uri, s, failed) {
			return
		}
		if failed != nil {
			tx.Apply(uri, &ahp.ChangesetStatusChangedAction{Status: ahp.ChangesetStatusError,
				Error: &ahp.ErrorInfo{ErrorType: "changeset", Message: failed.Error()}})
			return
		}
		if scope.all() {
			p.cfg.SetTotals(tx, l.session, totals(files))
		}
		can.running = p.operating.on(uri)
		p.publishFiles(tx, uri, s, l.record.draw(uri, scope, files, l.outsiders(p, s), overlap, can.staging, hidden),
			can)
	})
	if err != nil {
		p.core.Log.Warn("a changeset was not brought up to date", "changeset", uri, "err", err)
	}
	if scope.all() && failed == nil {
		p.cfg.Computed(ctx, l.session, func() map[string]string { return versionsOf(files) })
	}
}

// outsiders returns a function that reports whether a file changed outside of turns. While a turn
// runs in the directories, differing files may be its work, so only files that were outsiders
// before count.
func (l *ledger) outsiders(p *Part, shown *ahp.ChangesetState) func(ahp.ChangesetFile, FileNote) bool {
	if !p.running.runsIn(p.core.LocalDirs(l.session)) {
		return func(ahp.ChangesetFile, FileNote) bool { return true }
	}
	before := map[string]string{}
	for _, f := range shown.Files {
		if n := ReadFileNote(f.Meta); n.Outside {
			before[f.ID] = n.Version()
		}
	}
	return func(f ahp.ChangesetFile, n FileNote) bool { return before[f.ID] == n.Version() }
}

// draw returns the files with their stored notes: who reviewed them, and whether a turn changed
// them.
func (r *record) draw(uri ahp.URI, scope changeScope, files []machine.ChangedFile,
	outsider func(ahp.ChangesetFile, FileNote) bool, overlap bool, staging machine.Staging,
	hidden map[string]access.Hiding) []ahp.ChangesetFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	short := core.ShortID(r.session)
	out := make([]ahp.ChangesetFile, 0, len(files))
	for _, f := range files {
		_, touched := slices.BinarySearch(r.rec.Touched, f.Name())
		file, note := changesetFile(short, f, overlap)
		note.Outside = scope.kind == kindSession && !touched && outsider(file, note)
		if scope.kind == kindUncommitted {
			note.Staged = staging.Of(f)
		}
		note.Guests = hidden[f.Name()]
		out = append(out, r.annotate(uri, file, note))
	}
	return out
}

// annotate returns a file with its review mark and note in its `_meta`. A mark is valid for the
// version on which it was set. r.mu is held.
func (r *record) annotate(uri ahp.URI, file ahp.ChangesetFile, note FileNote) ahp.ChangesetFile {
	note.By, note.At, note.Stale, note.Seen = nil, nil, false, nil
	note.Hunks = r.rec.Hunks[markKey(uri, file.ID)]
	m, marked := r.rec.Marks[markKey(uri, file.ID)]
	reviewed := marked && m.Hash == note.Version()
	if marked {
		note.By, note.At, note.Stale = &m.By, &m.At, !reviewed
	}
	if note.Stale {
		note.Seen = seenSides(core.ShortID(r.session), path.Base(file.ID), m.Hash)
	}
	file.Reviewed = &reviewed
	raw, err := json.Marshal(note)
	if err == nil {
		file.Meta = ahp.Meta{core.MetaKey: raw}
	}
	return file
}

// bulk is the number of small actions above which one action with all content is sent instead.
const bulk = 100

// publishFiles sends all content the first time, then only differences (AHP requirement 154), and
// sets the status to ready.
func (p *Part) publishFiles(tx *hub.Tx, uri ahp.URI, s *ahp.ChangesetState, files []ahp.ChangesetFile, can offer) {
	set, removed := differences(s.Files, files)
	if s.Status == ahp.ChangesetStatusComputing || len(set)+len(removed) > bulk {
		tx.Apply(uri, &ahp.ChangesetContentChangedAction{Files: files, Operations: operationsFor(s, can)})
	} else {
		p.publishSome(tx, uri, s, set, removed, can)
	}
	if s.Status != ahp.ChangesetStatusReady {
		tx.Apply(uri, &ahp.ChangesetStatusChangedAction{Status: ahp.ChangesetStatusReady})
	}
}

func (p *Part) publishSome(tx *hub.Tx, uri ahp.URI, s *ahp.ChangesetState, set []ahp.ChangesetFile, removed []string,
	can offer) {
	if reset := noLongerReviewed(s.Files, set); len(reset) > 0 { // AHP requirement 158: explicit reset
		tx.Apply(uri, &ahp.ChangesetFilesReviewChangedAction{Files: reset, Reviewed: false})
	}
	for _, id := range removed {
		tx.Apply(uri, &ahp.ChangesetFileRemovedAction{FileID: id})
	}
	for _, f := range set {
		tx.Apply(uri, &ahp.ChangesetFileSetAction{File: f})
	}
	if ops := operationsFor(s, can); !reflect.DeepEqual(ops, s.Operations) {
		tx.Apply(uri, &ahp.ChangesetOperationsChangedAction{Operations: ops})
	}
}

func differences(old, now []ahp.ChangesetFile) (set []ahp.ChangesetFile, removed []string) {
	was := make(map[string]*ahp.ChangesetFile, len(old))
	for i := range old {
		was[old[i].ID] = &old[i]
	}
	for _, f := range now {
		if o := was[f.ID]; o == nil || !reflect.DeepEqual(*o, f) {
			set = append(set, f)
		}
		delete(was, f.ID)
	}
	for _, f := range old {
		if was[f.ID] != nil {
			removed = append(removed, f.ID)
		}
	}
	return set, removed
}

func noLongerReviewed(old, set []ahp.ChangesetFile) (ids []string) {
	for _, f := range old {
		if f.Reviewed == nil || !*f.Reviewed {
			continue
		}
		if slices.ContainsFunc(set, func(n ahp.ChangesetFile) bool { return n.ID == f.ID && !*n.Reviewed }) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// LoadMarks loads the review marks that an action changes, before its step.
func (p *Part) LoadMarks(ctx context.Context, info hub.ChannelInfo, a ahp.Action) error {
	if _, marks := a.(*ahp.ChangesetFilesReviewChangedAction); !marks {
		return nil
	}
	return p.ledger(info.Session).record.load(ctx)
}

// markFiles sets or removes the marks of files for the versions in s, as the reviewer has not seen
// later writes.
func (rec *ledgerRecord) markFiles(uri ahp.URI, s *ahp.ChangesetState, files []string, reviewed bool, m mark) {
	if rec.Marks == nil {
		rec.Marks = map[string]mark{}
	}
	for _, f := range s.Files {
		if !slices.Contains(files, f.ID) {
			continue
		}
		delete(rec.Marks, markKey(uri, f.ID))
		if !reviewed {
			delete(rec.Hunks, markKey(uri, f.ID))
			continue
		}
		m.Hash = ReadFileNote(f.Meta).Version()
		rec.Marks[markKey(uri, f.ID)] = m
	}
}

// showReviewed publishes the reviewers of a changeset's files.
func (p *Part) showReviewed(ctx context.Context, l *ledger, uri ahp.URI, files []string) {
	if err := p.core.Do(ctx, func(tx *hub.Tx) { l.record.showMarks(tx, uri, files) }); err != nil {
		p.core.Log.Warn("a review mark is not shown", "changeset", uri, "err", err)
	}
}

func (r *record) showMarks(tx *hub.Tx, uri ahp.URI, files []string) {
	s, ok := hub.StateOf[*ahp.ChangesetState](tx, uri)
	if !ok {
		return
	}
	r.mu.Lock()
	var show []ahp.ChangesetFile
	for _, f := range s.Files {
		if slices.Contains(files, f.ID) {
			show = append(show, r.annotate(uri, f, ReadFileNote(f.Meta)))
		}
	}
	r.mu.Unlock()
	for _, f := range show {
		tx.Apply(uri, &ahp.ChangesetFileSetAction{File: f})
	}
}
