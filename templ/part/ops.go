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

// fileOps are those that make sense for a file: what is staged whole is not staged again, and has nothing to discard.
func (f *DiffFile) fileOps() (out []FileOp) {
	for _, op := range f.Ops {
		switch {
		case op.ID == "unstage" && f.Staged == "", f.Staged == StagedAll && (op.ID == "stage" || op.ID == "discard"):
		default:
			out = append(out, op)
		}
	}
	return out
}

func stagedWord(how string) string {
	if how == StagedAll {
		return "Staged"
	}
	return "Partly staged"
}
