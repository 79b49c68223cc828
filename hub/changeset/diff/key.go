package diff

import (
	"crypto/sha256"
	"encoding/hex"
)

// keyOf hashes what a hunk changes and the line next to it on either end: enough to tell two additions of the same line
// apart, and little enough to last while the lines around change.
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

// Changed are the lines of a hunk that differ, first and last, on the new side, or on the old one when it only removes.
func (h *Hunk) Changed() (old bool, from, to int) {
	old = true
	for i := range h.Rows {
		old = old && h.Rows[i].Kind != Add
	}
	for i := range h.Rows {
		r := &h.Rows[i]
		n := r.New
		if old {
			n = r.Old
		}
		if r.Kind == Context || r.Kind == Delete != old {
			continue
		}
		if from == 0 {
			from = n
		}
		to = n
	}
	return old, from, to
}
