package part

// How much of an uncommitted change is staged.
const (
	StagedPart = "part"
	StagedAll  = "all"
)

// FileOp is something that can be done with a file: an operation of the changeset that takes one.
type FileOp struct {
	ID, Label string
	Confirm   bool // ask before
}

// fileOps are those that make sense for a file.
func (f *DiffFile) fileOps() (out []FileOp) {
	for _, op := range f.Ops {
		if f.Applies(op.ID) {
			out = append(out, op)
		}
	}
	return out
}

// hunkOps are those that make sense for its hunks; the script of hunks asks the same.
func (f *DiffFile) hunkOps(ops []HunkOp) (out []HunkOp) {
	for _, op := range ops {
		if f.Applies(op.ID) {
			out = append(out, op)
		}
	}
	return out
}

// Applies reports whether an operation would do anything: what is staged whole is not staged again, and has
// nothing to discard.
func (f *DiffFile) Applies(op string) bool {
	if f.Staged == "" {
		return op != "unstage"
	}
	return f.Staged != StagedAll || op != "stage" && op != "discard"
}

func stagedWord(how string) string {
	if how == StagedAll {
		return "Staged"
	}
	return "Partly staged"
}
