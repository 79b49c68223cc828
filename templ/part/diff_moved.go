package part

import (
	"sort"
	"strconv"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// Moved is a block of a file's lines that was moved from or to another place in the changeset.
type Moved struct {
	diff.Block
	Path string // path of the other end
	Href string // page of that file; a script scrolls to the line instead
}

// movedFrom returns the moved block of a row; nil if there is none.
func (w *rowWriter) movedFrom(r *diff.Row) *Moved {
	list, n := w.moved[r.Kind], r.New
	if r.Kind == diff.Delete {
		n = r.Old
	}
	if r.Kind == diff.Context || len(list) == 0 {
		return nil
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].To >= n })
	if i == len(list) || list[i].From > n {
		return nil
	}
	return &list[i]
}

// label names the other end on the first row of a block. It is an attribute, so that copied text does not contain it.
func (w *rowWriter) label(b []byte, r *diff.Row, m *Moved) []byte {
	if r.New != m.From && r.Kind == diff.Add || r.Old != m.From && r.Kind == diff.Delete {
		return b
	}
	words, at := "Moved from ", Where(Before, m.Line, m.Line)
	if r.Kind == diff.Delete {
		words, at = "Moved to ", Where(After, m.Line, m.Line)
	}
	if m.Path != w.file.Path {
		words += m.Path + ":L" + strconv.Itoa(m.Line)
	} else {
		words += "line " + strconv.Itoa(m.Line)
	}
	b = append(b, `<a class="mv" href="`...)
	b = appendEscaped(b, m.Href+"#"+at)
	b = append(b, `" aria-label="`...)
	b = appendEscaped(b, words)
	return append(b, `"></a>`...)
}
