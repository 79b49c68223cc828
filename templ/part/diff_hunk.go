package part

import (
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/changeset/diff"
)

// HunkOp is an operation of the changeset that can be applied to a hunk's lines.
type HunkOp struct {
	ID, Label string
	Confirm   bool // confirm first
}

// HunkName returns a hunk's name on pages: a prefix of its key, which is unique in the file.
func HunkName(key string) string { return key[:min(8, len(key))] }

// fileKey returns the file's key; "" for the shared set of buttons.
func fileKey(f *DiffFile) string {
	if f.ID == "" {
		return ""
	}
	return f.Key()
}

// HunkAt returns the changed lines of a hunk, as forms send them.
func HunkAt(h *diff.Hunk) string {
	old, from, to := h.Changed()
	if old {
		return Where(Before, from, to)
	}
	return Where(After, from, to)
}

// Seen adds the hunks that were reviewed in an earlier version, at their current positions.
func Seen(done map[string]string, was, now *diff.File, by string) map[string]string {
	had := map[string]bool{}
	for i := range was.Hunks {
		had[was.Hunks[i].Key] = true
	}
	for i := range now.Hunks {
		if key := now.Hunks[i].Key; had[key] && done[key] == "" {
			if done == nil {
				done = map[string]string{}
			}
			done[key] = by
		}
	}
	return done
}

// isDone reports whether a hunk is reviewed.
func (f *DiffFile) isDone(key string) bool {
	_, ok := f.Done[key]
	return ok && key != ""
}

// hunks returns how many hunks a file has, and how many of them are reviewed.
func (f *DiffFile) hunks() (done, all int) {
	if f.Diff == nil {
		return 0, 0
	}
	for i := range f.Diff.Hunks {
		if key := f.Diff.Hunks[i].Key; key != "" {
			all++
			if f.isDone(key) {
				done++
			}
		}
	}
	return done, all
}

func (f *DiffFile) marked() string {
	done, all := f.hunks()
	if done == 0 || f.Reviewed {
		return ""
	}
	return strconv.Itoa(done) + "/" + strconv.Itoa(all) + " hunks"
}

// doneAttrs list the reviewed hunks in the head, which is sent alone when a mark changes: "3f2a81bc
// Ana", one per line.
func doneAttrs(f *DiffFile) templ.Attributes {
	if len(f.Done) == 0 {
		return nil
	}
	var list []string
	if f.Diff == nil { // folded: its rows may be loaded later
		for key, by := range f.Done {
			list = append(list, HunkName(key)+" "+by)
		}
		slices.Sort(list)
		return templ.Attributes{"data-done": strings.Join(list, "\n")}
	}
	for i := range f.Diff.Hunks {
		if key := f.Diff.Hunks[i].Key; f.isDone(key) {
			list = append(list, HunkName(key)+" "+f.Done[key])
		}
	}
	return templ.Attributes{"data-done": strings.Join(list, "\n")}
}

func versionAttrs(f *DiffFile) templ.Attributes {
	if f.Versions == "" {
		return nil
	}
	return templ.Attributes{"data-v": f.Versions}
}

// done reports whether a hunk stays folded: it is reviewed and has no threads.
func (w *rowWriter) done(h *diff.Hunk) bool {
	if !w.file.isDone(h.Key) {
		return false
	}
	return !slices.ContainsFunc(w.file.Threads, func(t Thread) bool {
		from, lines := h.NewStart, h.NewLines
		if t.Side == Before {
			from, lines = h.OldStart, h.OldLines
		}
		return !t.Outdated && t.To >= from && t.From < from+lines
	})
}

// folded renders a reviewed hunk, folded.
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
	b := append(make([]byte, 0, 128), `<details class="reviewed-hunk"><summary>Reviewed`...)
	if by := w.file.Done[h.Key]; by != "" {
		b = appendEscaped(append(b, " by "...), by)
	}
	b = append(b, ": +"+strconv.Itoa(add)+" −"+strconv.Itoa(del)+" at line "+strconv.Itoa(h.NewStart)...)
	w.write(append(b, "</summary>"...))
	w.rows(h.Rows)
	w.flush()
	w.write([]byte("</details>"))
}

// tools renders the operations of a hunk as forms in its bar, for use without JavaScript. Otherwise
// one set of buttons moves to the current hunk.
func (w *rowWriter) tools(h *diff.Hunk) {
	if h.Key == "" {
		return
	}
	w.drawInto(HunkTools(w.file, w.file.hunkOps(w.view.Ops), HunkName(h.Key), HunkAt(h), w.file.Reviewed ||
		w.file.isDone(h.Key)))
}

// drawInto renders a component into the open chunk.
func (w *rowWriter) drawInto(c templ.Component) {
	if w.err == nil {
		w.err = c.Render(w.ctx, (*chunkWriter)(w))
	}
}

type chunkWriter rowWriter

func (c *chunkWriter) Write(b []byte) (int, error) {
	c.chunk = append(c.chunk, b...)
	return len(b), nil
}
