package page

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/templ/part"
)

// Op is something that can be done with the changes as a whole.
type Op struct {
	ID      string
	Label   string
	Title   string
	Confirm string // what is asked before; "" when nothing is
	Off     bool   // there is nothing to do
	Running bool
	Problem string // how it failed the last time
}

// Op is the operation of an id, nil when it is not offered.
func (v *Changes) Op(id string) *Op {
	for i := range v.Ops {
		if v.Ops[i].ID == id {
			return &v.Ops[i]
		}
	}
	return nil
}

// able is the operation when it can be done now.
func (v *Changes) able(id string) *Op {
	if op := v.Op(id); op != nil && !op.Off {
		return op
	}
	return nil
}

// SameOps reports whether the bar reads as another page's.
func (v *Changes) SameOps(o *Changes) bool {
	return slices.Equal(v.Ops, o.Ops) && v.stagedWords() == o.stagedWords() &&
		v.commitElsewhere() == o.commitElsewhere() && slices.Equal(v.takenNow(), o.takenNow())
}

// taking is the operation that takes everything back: where there is an index, what is staged stays.
func (v *Changes) taking() *Op {
	if op := v.Op("discard"); op != nil {
		return v.able("discard")
	}
	return v.able("revert")
}

const mostNamed = 30 // files that a dialog names

// taken are the files an operation takes back.
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

// commitElsewhere is the address of the uncommitted changes when this scope has other ones, "" when there are none.
func (v *Changes) commitElsewhere() string {
	for _, s := range v.others() {
		if s.Key == "uncommitted" && !v.Away {
			return s.URL
		}
	}
	return ""
}

// branchPlace is the dialog in which a branch is created.
func (v *Changes) branchPlace() string {
	if v.able("commit") != nil {
		return "op-commit"
	}
	return "op-branch"
}

// stagedWords say how much the next commit has.
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

// problem splits how an operation failed: a sentence and a program's output.
func (o *Op) problem() (text, output string) {
	text, output, _ = strings.Cut(o.Problem, "\n")
	return text, strings.TrimSpace(output)
}

// OpAsk is a page that asks before something is done, or says why it was not: the way without JavaScript.
type OpAsk struct {
	Frame   part.Frame
	Op      Op
	Action  string // of the form
	Back    string
	What    string // a file, or lines of it; "" for all changes
	Fields  [][2]string
	Message string
	Name    string
}

// button is what doing it is called.
func (a *OpAsk) button() string {
	if a.Op.Problem != "" {
		return a.Op.Label + " again"
	}
	return a.Op.Label
}
