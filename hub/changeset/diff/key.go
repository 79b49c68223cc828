package diff

import (
	"crypto/sha256"
	"encoding/hex"
)

// keyOf hashes the changes of a hunk and one adjacent line at each end: enough to distinguish two
// additions of the same line, and stable when more distant lines change.
func keyOf(rows []Row) string {
	first, last := 0, len(rows)-1
	for first < len(rows) && rows[first].Kind == Context {
		first++
	}
	for last >= 0 && rows[last].Kind == Context {
		last--
	}
	sum := sha256.New()
	var b []byte
	for i := max(0, first-1); i <= min(last+1, len(rows)-1); i++ {
		if r := &rows[i]; r.Kind != Context || i < first || i > last {
			b = append(append(append(b[:0], '0'+byte(r.Kind)), r.Text...), '\n')
			sum.Write(b)
		}
	}
	return hex.EncodeToString(sum.Sum(b[:0])[:16])
}

// Changed returns the first and last changed line of a hunk, on the new side, or on the old one if
// it only deletes. A deletion at either end counts as the line next to it.
func (h *Hunk) Changed() (old bool, from, to int) {
	first, last := -1, -1
	old = true
	for i := range h.Rows {
		if h.Rows[i].Kind == Context {
			continue
		}
		old = old && h.Rows[i].Kind == Delete
		if last = i; first < 0 {
			first = i
		}
	}
	if first < 0 {
		return old, 0, 0
	}
	if old {
		return old, h.Rows[first].Old, h.Rows[last].Old
	}
	for h.Rows[first].Kind == Delete {
		first++
	}
	for h.Rows[last].Kind == Delete {
		last--
	}
	return old, h.Rows[first].New, h.Rows[last].New
}
