package main

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ahphub/ahphub/e2e/fixture"
	pages "github.com/ahphub/ahphub/handlers/pages/site"
	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/static"
	"github.com/ahphub/ahphub/templ/page"
	"github.com/ahphub/ahphub/templ/part"
	"github.com/ahphub/ahphub/web"
)

// policy is the content security policy of the program's pages, so that violations show here too.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// site serves review pages made from literal data, so that only the page is measured, not the host.
type site struct {
	*httptest.Server
	assets *static.Assets
	sets   map[string]func() []fixture.File // generated on first use
}

func newSite() (*site, error) {
	assets, err := static.New()
	if err != nil {
		return nil, err
	}
	s := &site{assets: assets, sets: map[string]func() []fixture.File{"states": sync.OnceValue(fixture.States)}}
	for _, d := range []fixture.Diff{fixture.D1, fixture.D2, fixture.D3, fixture.D4} {
		s.sets[strings.ToLower(d.Name)] = sync.OnceValue(d.Make)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", assets)
	mux.HandleFunc("GET /s/{session}/changes", s.changes)
	mux.HandleFunc("GET /s/{session}/changes/file/{file}", s.file)
	mux.HandleFunc("GET /s/{session}/changes/context", s.context)
	mux.HandleFunc("GET /s/{session}/changes/blob/{path...}", s.blob)
	mux.HandleFunc("POST /s/{session}/changes/drafts", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Draft-Id", "d9")
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	s.Server = httptest.NewServer(web.Compress(mux))
	return s, nil
}

// files returns the files of a fixture, nil for an unknown name.
func (s *site) files(name string) []fixture.File {
	if make := s.sets[name]; make != nil {
		return make()
	}
	return nil
}

var spaces = map[string]diff.Space{"amount": diff.SpaceAmount, "ignore": diff.SpaceNone, "blank": diff.SpaceBlank}

// view returns the review of a fixture, like the host's handler.
func (s *site) view(name string, q url.Values) *page.Changes {
	query := "scope=session"
	for _, k := range []string{"view", "ws"} {
		if q.Get(k) != "" {
			query += "&" + k + "=" + q.Get(k)
		}
	}
	v := &page.Changes{
		Base: "/s/" + name, Query: query, Status: "ready", Me: "ana", MaySend: true, Ops: allOps,
		View: part.DiffView{Split: q.Get("view") == "split"}, Space: spaces[q.Get("ws")],
	}
	for _, f := range s.files(name) {
		v.Files = append(v.Files, s.diffFile(name, query, f, v.Space))
	}
	moves(v.Files)
	if name == "states" {
		conversation(v)
		v.View.Ops = []part.HunkOp{{ID: "revert", Label: "Revert", Confirm: true}, {ID: "stage", Label: "Stage"}}
	}
	v.Settle()
	add, del := v.Totals()
	v.Scopes = []page.Scope{
		{Key: "turn", Label: "Last turn", Title: "Changes of the last turn", URL: "?scope=turn", Add: 3, Del: 1,
			Known: true},
		{Key: "session", Label: "Session", Title: "What the session changed", URL: "?scope=session", Add: add, Del: del,
			Known: true, Current: true},
		{Key: "uncommitted", Label: "Uncommitted", Title: "Uncommitted changes", URL: "?scope=uncommitted", Add: add,
			Del: del, Known: true},
	}
	return v
}

// The operations of uncommitted changes, which have the most.
var (
	fileOps = []part.FileOp{{ID: "stage", Label: "Stage"}, {ID: "unstage", Label: "Unstage"},
		{ID: "discard", Label: "Discard", Confirm: true}}
	allOps = []page.Op{{ID: "stage", Label: "Stage"}, {ID: "unstage", Label: "Unstage", Off: true},
		{ID: "commit", Label: "Commit"},
		{ID: "discard", Label: "Discard", Confirm: "Discard unstaged changes?"},
		{ID: "create-branch", Label: "Create branch"}}
)

func (s *site) diffFile(name, query string, f fixture.File, space diff.Space) part.DiffFile {
	d := part.DiffFile{ID: f.Path, Base: "/s/" + name + "/changes", Query: query, Path: f.Path, OldPath: f.OldPath,
		Status: part.DiffModified, Ops: fileOps, OldSize: int64(len(f.Before)), NewSize: int64(len(f.After))}
	switch {
	case f.Before == nil:
		d.Status = part.DiffAdded
	case f.After == nil:
		d.Status = part.DiffDeleted
	case f.OldPath != "":
		d.Status = part.DiffRenamed
	}
	if f.OldMode != 0 && f.OldMode != f.Mode {
		d.OldMode, d.NewMode = "100644", "100755"
	}
	switch {
	case path.Ext(f.Path) == ".png":
		d.Form = part.DiffImage
		d.OldPixels, d.NewPixels = diff.PixelsOf(f.Before), diff.PixelsOf(f.After)
	case f.Mode == fixture.Submodule:
		d.Form = part.DiffSubmodule
	case bytes.IndexByte(f.After, 0) >= 0:
		d.Form = part.DiffBinary
	case f.Mode == fixture.Symlink:
		d.Form = part.DiffSymlink
	}
	if ext := path.Ext(f.Path); ext == ".png" || ext == ".svg" {
		if f.Before != nil {
			d.OldURL = "/s/" + name + "/changes/blob/before/" + f.Path
		}
		d.NewURL = "/s/" + name + "/changes/blob/after/" + f.Path
	}
	if d.Form != part.DiffImage && d.Form != part.DiffBinary {
		d.Diff = compute(f, space)
		d.Add, d.Del = d.Diff.Additions, d.Diff.Deletions
	}
	d.Versions = oid(f.Before) + " " + oid(f.After)
	if d.Fold = diff.Folded(f.Path); d.Fold != "" {
		d.Diff = nil
	}
	return d
}

func oid(data []byte) string {
	if data == nil {
		return "-"
	}
	sum := sha1.Sum(data)
	return hex.EncodeToString(sum[:])
}

// moves finds moved lines up to the same size as the host.
func moves(files []part.DiffFile) {
	list, lines := make([]*diff.File, len(files)), 0
	for i := range files {
		list[i] = files[i].Diff
		lines += files[i].Add + files[i].Del
	}
	if lines > 40_000 {
		return
	}
	for i, blocks := range diff.Moves(list) {
		for _, b := range blocks {
			files[i].Moved = append(files[i].Moved, part.Moved{Block: b, Path: files[b.File].Path,
				Href: files[b.File].Href()})
		}
	}
}

// conversation adds threads in every state to the first files.
func conversation(v *page.Changes) {
	at := time.Now().Add(-9 * time.Minute)
	say := func(id, by, who, text string) part.Entry {
		return part.Entry{ID: id, By: by, ByID: who, At: at, Text: text}
	}
	threads := []part.Thread{
		{ID: "t1", Base: v.Base, File: part.DiffKey("cmd/greet/main.go"), Path: "cmd/greet/main.go", Side: part.After,
			From: 11, To: 11, Unread: true, Place: 1, Of: 3, Entries: []part.Entry{
				say("e1", "Ana", "ana", "Why **everyone**? The test in `greet_test.go` expects `world`."),
				{ID: "e2", By: "Shell", Agent: true, At: at,
					Text: "I can change it back, or change the test. Which do you prefer?"},
				{ID: "e3", By: "Ben", ByID: "link:2", At: at, Edited: true, Text: "Back, please."}}},
		{ID: "t2", Base: v.Base, File: part.DiffKey("cmd/greet/main.go"), Path: "cmd/greet/main.go", Side: part.After,
			From: 16, To: 18, MovedFrom: 12, Place: 2, Of: 3, Sent: true, Entries: []part.Entry{
				say("e1", "Ana", "ana", "`strings` is not imported.")}},
		{ID: "t3", Base: v.Base, File: part.DiffKey("cmd/greet/main.go"), Path: "cmd/greet/main.go", Side: part.Before,
			From: 7, To: 7, Resolved: true, Entries: []part.Entry{
				say("e1", "Ben", "link:2", "This comment could say how.")}},
		{ID: "t4", Base: v.Base, File: part.DiffKey("no_newline.txt"), Path: "no_newline.txt", Side: part.After,
			From: 4, To: 5, Outdated: true, Place: 3, Of: 3, Quote: "four\nfive",
			Entries: []part.Entry{say("e1", "Ben", "link:2", "Do we need these two?")}},
	}
	v.Threads = threads
	for i := range v.Files {
		for _, t := range threads {
			if t.File == v.Files[i].Key() {
				v.Files[i].Threads = append(v.Files[i].Threads, t)
			}
		}
	}
	v.Files[1].Reviewed, v.Files[1].ReviewedBy, v.Files[1].Shut = true, "Ben", true
	v.Files[3].Stale = true
	v.Files = append(v.Files, part.DiffFile{ID: "gen/huge.sql", Base: v.Base + "/changes", Query: v.Query,
		Path: "gen/huge.sql", Status: part.DiffModified, Add: 18_200, Del: 9_100, Fold: "27,300 changed lines"})
	v.Drafts = []page.Draft{{ID: "d1", File: part.DiffKey("cmd/greet/main.go"), Path: "cmd/greet/main.go",
		Side: part.After, From: 13, To: 13, Text: "A full stop reads cold here."}}
	v.Unsent = 2
}

func (s *site) frame(v *page.Changes, title string) part.Frame {
	add, del := v.Totals()
	return part.Frame{
		Title: title, Asset: s.assets.Path, Imports: s.assets.Imports, Tab: "changes", Styles: []string{"css/review.css"},
		Scripts: part.ReviewScripts(),
		Viewer:  part.Viewer{Name: "Ana", Owner: true, Comment: true, Prompt: true, Approve: true},
		Rail: []part.RailItem{{Short: path.Base(v.Base), Title: "Greet everyone", Status: part.Status{Icon: "idle",
			Word: "Idle"}, Age: "3 m", Add: int64(add), Del: int64(del)}},
		Session: &part.SessionHead{Short: path.Base(v.Base), Title: "Greet everyone", Branch: "main",
			Status: part.Status{Icon: "idle", Word: "Idle"},
			Add:    int64(add), Del: int64(del), Files: int64(len(v.Files)), People: []part.Person{{Name: "Ana"},
				{Name: "Ben"}}},
	}
}

func (s *site) changes(w http.ResponseWriter, r *http.Request) {
	v := s.view(r.PathValue("session"), r.URL.Query())
	if w := r.URL.Query().Get("state"); w != "" {
		v.Status, v.Files, v.Problem = w, nil, "git is not installed."
	}
	f := s.frame(v, "Changes")
	f.Theme = r.URL.Query().Get("theme")
	s.send(w, r, page.ChangesPage(f, v))
}

func (s *site) file(w http.ResponseWriter, r *http.Request) {
	v := s.view(r.PathValue("session"), r.URL.Query())
	for i := range v.Files {
		if f := &v.Files[i]; f.Key() == r.PathValue("file") {
			frame := s.frame(v, f.Path)
			frame.Theme = r.URL.Query().Get("theme")
			v.Comment = page.CommentAt(f, r.URL.Query().Get("comment"))
			if f.Fold != "" && s.unfold(r.PathValue("session"), f) && r.Header.Get("X-Fragment") != "" {
				_ = part.DiffBody(f, v.View).Render(r.Context(), w)
				return
			}
			s.send(w, r, page.FilePage(frame, v, f))
			return
		}
	}
	http.NotFound(w, r)
}

// unfold compares a file that is folded on the page.
func (s *site) unfold(name string, d *part.DiffFile) bool {
	for _, f := range s.files(name) {
		if f.Path == d.Path {
			d.Fold, d.Diff = "", compute(f, diff.SpaceAll)
		}
	}
	return d.Diff != nil
}

func (s *site) context(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	n := func(k string) int { v, _ := strconv.Atoi(q.Get(k)); return v }
	for _, f := range s.files(r.PathValue("session")) {
		if part.DiffKey(f.Path) != q.Get("file") {
			continue
		}
		rows := diff.ContextRows(f.Before, f.After, diff.Options{Path: f.Path}, n("from"), n("to"))
		d := s.diffFile(r.PathValue("session"), "scope=session", f, diff.SpaceAll)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_ = part.DiffContext(&d, rows, part.DiffView{Split: q.Get("view") == "split"}).Render(r.Context(), w)
	}
}

func (s *site) blob(w http.ResponseWriter, r *http.Request) {
	side, name, _ := strings.Cut(r.PathValue("path"), "/")
	for _, f := range s.files(r.PathValue("session")) {
		if f.Path == name {
			w.Header().Set("Content-Type", map[bool]string{true: "image/svg+xml",
				false: "image/png"}[path.Ext(name) == ".svg"])
			_, _ = w.Write(map[string][]byte{"before": f.Before, "after": f.After}[side])
		}
	}
}

var failed = template.Must(template.New("").Parse("<p>{{.}}</p>"))

func (s *site) send(w http.ResponseWriter, r *http.Request, c component) {
	w.Header().Set("Content-Security-Policy", policy)
	if err := pages.Send(w, http.StatusOK, c); err != nil {
		_ = failed.Execute(w, fmt.Sprint(err))
	}
}
