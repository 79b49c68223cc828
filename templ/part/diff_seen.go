package part

import (
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// Seen tells which changes of a file somebody has reviewed in an earlier version of it, by what they change, wherever
// that stands now. It is nil when all are, since then there is nothing to tell apart.
func Seen(was, now *diff.File) map[string]bool {
	had, seen, fresh := map[string]bool{}, map[string]bool{}, false
	for i := range was.Hunks {
		had[changedText(&was.Hunks[i])] = true
	}
	for i := range now.Hunks {
		text := changedText(&now.Hunks[i])
		seen[text] = had[text]
		fresh = fresh || !had[text]
	}
	if !fresh {
		return nil
	}
	return seen
}

// changedText is what a hunk changes, without where.
func changedText(h *diff.Hunk) string {
	var b strings.Builder
	for i := range h.Rows {
		if r := &h.Rows[i]; r.Kind != diff.Context {
			b.WriteByte('0' + byte(r.Kind))
			b.WriteString(r.Text)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// seen tells whether a hunk stays folded: it was reviewed, and nobody speaks about its lines.
func (w *rowWriter) seen(h *diff.Hunk) bool {
	if len(w.file.Seen) == 0 || !w.file.Seen[changedText(h)] {
		return false
	}
	for i := range w.file.Threads {
		t := &w.file.Threads[i]
		from, lines := h.NewStart, h.NewLines
		if t.Side == Before {
			from, lines = h.OldStart, h.OldLines
		}
		if !t.Outdated && t.To >= from && t.From < from+lines {
			return false
		}
	}
	return true
}

// folded draws a hunk that was reviewed, shut.
func (w *rowWriter) folded(h *diff.Hunk) {
	add, del := 0, 0
	for i := range h.Rows {
		switch h.Rows[i].Kind {
		case diff.Add:
			add++
		case diff.Delete:
			del++
		}
	}
	w.flush()
	w.write([]byte(`<details class="hs"><summary>Reviewed already: +` + strconv.Itoa(add) + ` −` + strconv.Itoa(del) + ` at line ` + strconv.Itoa(h.NewStart) + `</summary>`))
	w.rows(h.Rows)
	w.flush()
	w.write([]byte("</details>"))
}
