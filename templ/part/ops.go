package part

// How much of an uncommitted change is staged.
const (
	StagedPart = "part"
	StagedAll  = "all"
)

// FileOp is an operation of the changeset that can be applied to one file.
type FileOp struct {
	ID, Label string
	Confirm   bool // confirm first
}

// fileOps returns the operations that would change a file.
func (f *DiffFile) fileOps() (out []FileOp) {
	for _, op := range f.Ops {
		if f.Applies(op.ID) {
			out = append(out, op)
		}
	}
	return out
}

// hunkOps returns the operations that would change a file's hunks; hunks.js applies the same rule.
func (f *DiffFile) hunkOps(ops []HunkOp) (out []HunkOp) {
	for _, op := range ops {
		if f.Applies(op.ID) {
			out = append(out, op)
		}
	}
	return out
}

// Applies reports whether an operation would do anything: a fully staged change cannot be staged again, and has
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
