package page

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/templ/part"
)

// Op is an operation on all changes.
type Op struct {
	ID      string
	Label   string
	Title   string
	Confirm string // question to confirm; "" for none
	Off     bool   // nothing to do
	Running bool
	Problem string // error of the last try
}

// Op returns the operation with an id; nil if it is not offered.
func (v *Changes) Op(id string) *Op {
	for i := range v.Ops {
		if v.Ops[i].ID == id {
			return &v.Ops[i]
		}
	}
	return nil
}

// able returns the operation if it can run now.
func (v *Changes) able(id string) *Op {
	if op := v.Op(id); op != nil && !op.Off {
		return op
	}
	return nil
}

// SameOps reports whether the bar is the same as on another page.
func (v *Changes) SameOps(o *Changes) bool {
	return slices.Equal(v.Ops, o.Ops) && v.stagedWords() == o.stagedWords() &&
		v.commitElsewhere() == o.commitElsewhere() && slices.Equal(v.takenNow(), o.takenNow())
}

// taking returns the operation that reverts everything; with a git index, staged changes stay.
func (v *Changes) taking() *Op {
	if op := v.Op("discard"); op != nil {
		return v.able("discard")
	}
	return v.able("revert")
}

const mostNamed = 30 // files listed in a dialog

// taken returns the files that an operation reverts.
func (v *Changes) taken(op *Op) (out []string) {
	for i := range v.Files {
		if v.Files[i].Applies(op.ID) {
			out = append(out, v.Files[i].Path)
		}
	}
	return out
}

func (v *Changes) takenNow() []string {
	if op := v.taking(); op != nil {
		return v.taken(op)
	}
	return nil
}

// commitElsewhere returns the address of the uncommitted changes if another scope has some; "" otherwise.
func (v *Changes) commitElsewhere() string {
	for _, s := range v.others() {
		if s.Key == "uncommitted" && !v.Away {
			return s.URL
		}
	}
	return ""
}

// branchPlace returns the id of the dialog that creates a branch.
func (v *Changes) branchPlace() string {
	if v.able("commit") != nil {
		return "op-commit"
	}
	return "op-branch"
}

// stagedWords describes what the next commit contains.
func (v *Changes) stagedWords() string {
	if v.Op("stage") == nil || len(v.Files) == 0 {
		return ""
	}
	all, some := 0, 0
	for i := range v.Files {
		switch v.Files[i].Staged {
		case part.StagedAll:
			all++
		case part.StagedPart:
			some++
		}
	}
	words := strconv.Itoa(all) + " of " + count(len(v.Files), "file", "files") + " staged"
	if some > 0 {
		words += ", " + strconv.Itoa(some) + " partly"
	}
	return words
}

func (o *Op) words() string {
	if o.Running {
		return o.Label + "…"
	}
	return o.Label
}

// problem splits an operation's error into a sentence and a program's output.
func (o *Op) problem() (text, output string) {
	text, output, _ = strings.Cut(o.Problem, "\n")
	return text, strings.TrimSpace(output)
}

// OpAsk is a page that confirms an operation or shows its error, for use without JavaScript.
type OpAsk struct {
	Frame   part.Frame
	Op      Op
	Action  string // of the form
	Back    string
	What    string // a file, or lines of it; "": all changes
	Fields  [][2]string
	Message string
	Name    string
}

// button returns the label of the confirmation.
func (a *OpAsk) button() string {
	if a.Op.Problem != "" {
		return a.Op.Label + " again"
	}
	return a.Op.Label
}
