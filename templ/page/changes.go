package page

import (
	"strings"

	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/templ/part"
)

// Changes is the review page of one changeset.
type Changes struct {
	Base    string // path of the session, as in "/s/ab12"
	Query   string // what selects this changeset and how it is drawn, as in "scope=session&view=split"
	Scopes  []Scope
	Chats   []ChatChoice // whose changes can be looked at; none when no chat has directories of its own
	Turns   []TurnChoice // for comparing what two of them left behind
	View    part.DiffView
	Space   diff.Space // which whitespace changes show
	Status  string     // "computing", "recomputing", "error" or "ready"
	Problem string     // why, when Status is "error"
	Late    string     // why what changes shows late, "" when it does not
	Away    bool       // the machine that has the files can't be reached
	Beside  string     // address of a new session with a worktree, when turns overlapped
	Files   []part.DiffFile
	Drafts  []Draft
	Threads []part.Thread // all of the session, for the bar
	Ops     []Op          // what can be done with all of it
	Unsent  int           // open threads no agent has been given
	Running bool          // a turn runs: what is sent waits in the queue
	Wrap    bool          // long lines are wrapped
	Commit  LastCommit

	MaySubmit, MaySend bool          // give a verdict; prompt the agent
	Comment            *CommentForm  // an open form, for a page without JavaScript
	Me                 string        // principal, so that a person's own comments offer Edit
	Mine               *part.Verdict // this person's verdict that stands
	Digest             string        // names the changes a verdict would be about; "" when that is not known

	FromTurn, ToTurn string // the turns that are compared, "" when none are
}

// TurnChoice is a turn of the picker.
type TurnChoice struct {
	ID, Label, Text string
	Chat            string // title of the chat it is of
	Counts          string // "+12 −3", "" when it changed nothing or that is not known
}

// ChatChoice is a chat with directories of its own, or first the session as a whole.
type ChatChoice struct {
	Title, Dirs, URL string
	Current          bool
}

// LastCommit is what was last committed from the review; its ID is empty when nothing was.
type LastCommit struct {
	ID, Branch, Subject string
	Files               int
	By                  string
}

// scope is the current one of the picker.
func (v *Changes) scope() *Scope {
	for i := range v.Scopes {
		if v.Scopes[i].Current {
			return &v.Scopes[i]
		}
	}
	return nil
}

// scopeLabel is what the scope picker reads while it is shut: the scope, after the chat when one is chosen.
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

// others are the other scopes with changes, or of which that is not known yet.
func (v *Changes) others() (out []Scope) {
	for _, s := range v.Scopes {
		if !s.Current && (s.Files > 0 || !s.Known) {
			out = append(out, s)
		}
	}
	return out
}

// committed reports whether nothing is left to commit since the last commit.
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

// chatTurns are the turns of one chat after another.
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
	Base    string // what it is compared with, in short
	URL     string
	Add     int
	Del     int
	Files   int
	Known   bool // the counts are known
	Current bool
}

// Draft is a comment only its author sees yet.
type Draft struct {
	ID   string
	File string // key of the file
	Path string
	Side part.Side
	From int
	To   int
	Text string
}

// Where is the place of a draft, as a fragment writes it.
func (d *Draft) Where() string { return part.Where(d.Side, d.From, d.To) }

// place is where a draft stands, for its author.
func (d *Draft) place() string {
	t := part.Thread{Side: d.Side, From: d.From, To: d.To}
	return d.Path + ", " + t.Lines()
}

// CommentForm is a comment form that is open when the page arrives.
type CommentForm struct {
	File  string // key of the file
	Where string // "R12", "L3-L9", "" for the file
	Draft string // id of the draft it edits
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

// Totals adds the files up.
func (v *Changes) Totals() (add, del int) {
	for i := range v.Files {
		add += v.Files[i].Add
		del += v.Files[i].Del
	}
	return add, del
}

// Settle decides what depends on the page as a whole. Call it once the files are there.
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

// with is the page's address with one parameter changed.
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

// tree lists directories before what they hold; directories with one entry share a line. Files come in the order of
// the page, so that walking down the tree is walking down the page.
func (v *Changes) tree() []treeRow {
	var rows []treeRow
	var open []string // the directories over the last row, each as it was listed, with its slash
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

// CommentAt is the form that a link opened: where is "R12", "L3" or "file"; nil when it is anything else.
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
