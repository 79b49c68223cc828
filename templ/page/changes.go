package page

import (
	"strings"

	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/templ/part"
)

// Changes is the review page of one changeset.
type Changes struct {
	Base    string // path of the session, like "/s/ab12"
	Query   string // selects changeset and view, like "scope=session&view=split"
	Scopes  []Scope
	Chats   []ChatChoice // whose changes to show; none if no chat has its own directories
	Turns   []TurnChoice // for comparing two turns
	View    part.DiffView
	Space   diff.Space // whitespace changes to show
	Status  string     // "computing", "recomputing", "error" or "ready"
	Problem string     // the error, when Status is "error"
	Late    string     // why changes appear late; "" when they do not
	Away    bool       // the machine with the files can't be reached
	Beside  string     // address of a new session with a worktree, when turns overlapped
	Files   []part.DiffFile
	Drafts  []Draft
	Threads []part.Thread // all of the session, for the bar
	Ops     []Op          // operations on all changes
	Unsent  int           // open threads not sent to an agent
	Running bool          // a turn runs: new messages are queued
	Wrap    bool          // long lines are wrapped
	Commit  LastCommit

	MaySubmit, MaySend bool          // give a verdict; prompt the agent
	Comment            *CommentForm  // the open form, on a page without JavaScript
	Me                 string        // principal; a person's own comments offer Edit
	Mine               *part.Verdict // this person's current verdict
	Digest             string        // identifies the changes for a verdict; "" when unknown

	FromTurn, ToTurn string // the compared turns; "" when none are
}

// TurnChoice is a turn of the picker.
type TurnChoice struct {
	ID, Label, Text string
	Chat            string // title of its chat
	Counts          string // "+12 −3"; "" when unknown or empty
}

// ChatChoice is a chat with its own directories, or the whole session, which is first.
type ChatChoice struct {
	Title, Dirs, URL string
	Current          bool
}

// LastCommit is the last commit made from the review; without an ID there was none.
type LastCommit struct {
	ID, Branch, Subject string
	Files               int
	By                  string
}

// scope returns the current scope of the picker.
func (v *Changes) scope() *Scope {
	for i := range v.Scopes {
		if v.Scopes[i].Current {
			return &v.Scopes[i]
		}
	}
	return nil
}

// scopeLabel returns the label of the closed scope picker: the scope, after the chat if one is chosen.
func (v *Changes) scopeLabel() string {
	label := "Changes"
	if s := v.scope(); s != nil {
		label = s.Label
	}
	for _, c := range v.Chats[min(1, len(v.Chats)):] {
		if c.Current {
			return c.Title + ": " + label
		}
	}
	return label
}

// others returns the other scopes that have, or may have, changes.
func (v *Changes) others() (out []Scope) {
	for _, s := range v.Scopes {
		if !s.Current && (s.Files > 0 || !s.Known) {
			out = append(out, s)
		}
	}
	return out
}

// committed reports whether everything is committed.
func (v *Changes) committed() bool {
	s := v.scope()
	return v.Commit.ID != "" && s != nil && s.Key == "uncommitted"
}

func (v *Changes) commitWords() string {
	words := v.Commit.By + " committed " + count(v.Commit.Files, "file", "files") + " as " + v.Commit.ID
	if v.Commit.Branch != "" {
		words += " on " + v.Commit.Branch
	}
	return words
}

// chatTurns groups the turns by chat.
func chatTurns(list []TurnChoice) (out [][]TurnChoice) {
	for i, t := range list {
		if i == 0 || t.Chat != list[i-1].Chat {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], t)
	}
	return out
}

// Scope is one changeset of the picker.
type Scope struct {
	Key     string // "turn", "session", "uncommitted", "branch"
	Label   string
	Title   string
	Base    string // what it is compared with
	URL     string
	Add     int
	Del     int
	Files   int
	Known   bool // the counts are known
	Current bool
}

// Draft is a comment that only its author sees.
type Draft struct {
	ID   string
	File string // key of the file
	Path string
	Side part.Side
	From int
	To   int
	Text string
}

// Where returns the draft's position as in a URL fragment.
func (d *Draft) Where() string { return part.Where(d.Side, d.From, d.To) }

// place describes the draft's position for its author.
func (d *Draft) place() string {
	t := part.Thread{Side: d.Side, From: d.From, To: d.To}
	return d.Path + ", " + t.Lines()
}

// CommentForm is a comment form that is open when the page loads.
type CommentForm struct {
	File  string // key of the file
	Where string // "R12", "L3-L9", "" for the file
	Draft string // id of the edited draft
	Text  string
}

// Reviewed counts the files marked reviewed.
func (v *Changes) Reviewed() int {
	n := 0
	for i := range v.Files {
		if v.Files[i].Reviewed {
			n++
		}
	}
	return n
}

// Open counts the unresolved threads.
func (v *Changes) Open() int {
	n := 0
	for i := range v.Threads {
		if !v.Threads[i].Resolved {
			n++
		}
	}
	return n
}

// Totals returns the sums over all files.
func (v *Changes) Totals() (add, del int) {
	for i := range v.Files {
		add += v.Files[i].Add
		del += v.Files[i].Del
	}
	return add, del
}

// Settle computes what depends on the page as a whole. Call it once all files are set.
func (v *Changes) Settle() {
	rows := 0
	for i := range v.Files {
		rows += v.Files[i].Rows()
	}
	v.View.Syntax = part.SyntaxFor(rows)
	for _, row := range v.tree() {
		if row.file != nil {
			row.file.Depth = row.depth
		}
	}
}

func (v *Changes) changes() string { return v.Base + "/changes" }

// with returns the page's address with one parameter changed.
func (v *Changes) with(key, value string) string {
	parts := strings.Split(v.Query, "&")
	out := parts[:0:0]
	for _, p := range parts {
		if p != "" && !strings.HasPrefix(p, key+"=") {
			out = append(out, p)
		}
	}
	if value != "" {
		out = append(out, key+"="+value)
	}
	return v.changes() + "?" + strings.Join(out, "&")
}

// treeRow is a line of the file tree: a directory, or a file with its number in Files.
type treeRow struct {
	dir   string
	path  string // of the directory, with its slash
	depth int
	file  *part.DiffFile
}

// tree lists directories before their entries; directories with one entry share a line. Files are in the order of
// the page, so that both can be navigated in parallel.
func (v *Changes) tree() []treeRow {
	var rows []treeRow
	var open []string // directories of the last row, as listed, with their slashes
	for i := range v.Files {
		f := &v.Files[i]
		dir := f.Path[:strings.LastIndexByte(f.Path, '/')+1]
		for len(open) > 0 && !strings.HasPrefix(dir, strings.Join(open, "")) {
			open = open[:len(open)-1]
		}
		if rest := dir[len(strings.Join(open, "")):]; rest != "" {
			rows = append(rows, treeRow{dir: strings.TrimSuffix(rest, "/"), path: dir, depth: len(open)})
			open = append(open, rest)
		}
		rows = append(rows, treeRow{file: f, depth: len(open)})
	}
	return rows
}

// CommentAt returns the form opened by a link: where is "R12", "L3" or "file"; nil for anything else.
func CommentAt(f *part.DiffFile, where string) *CommentForm {
	if where == "file" {
		return &CommentForm{File: f.Key()}
	}
	if _, _, _, ok := part.ParseWhere(where); !ok || where == "" {
		return nil
	}
	return &CommentForm{File: f.Key(), Where: where}
}

func (c *CommentForm) words() string {
	side, from, to, _ := part.ParseWhere(c.Where)
	t := part.Thread{Side: side, From: from, To: to}
	return "on " + t.Lines()
}

func fileView(v *Changes) part.DiffView {
	view := v.View
	view.Links, view.Whole = true, true
	if v.Comment != nil && v.Comment.Where != "" {
		view.Form, view.FormAt = openComment(v), v.Comment.Where
	}
	return view
}
