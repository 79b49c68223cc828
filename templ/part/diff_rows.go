package part

import (
	"context"
	"io"
	"strconv"

	"github.com/a-h/templ"

	"github.com/ahphub/ahphub/hub/changeset/diff"
	"github.com/ahphub/ahphub/hub/texts"
)

// Rows are most of a review page (16,000 for a change of 10,000 lines), so they are written by hand: one element per
// row; numbers are attributes that CSS renders, so that copied text is only code; chunks of 120 rows have their
// exact height in a class, because `content-visibility` must know it and the policy forbids style attributes.
const (
	chunkRows = 120
	lineLimit = 5_000 // bytes of a line shown before it is cut
)

// DiffRows renders the hunks of a file, with threads below their lines.
func DiffRows(f *DiffFile, v DiffView) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, out io.Writer) error {
		w := newRowWriter(ctx, out, f, v)
		w.hunks()
		return w.close()
	})
}

// DiffContext renders only rows, for a gap that a reader opened.
func DiffContext(f *DiffFile, rows []diff.Row, v DiffView) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, out io.Writer) error {
		w := newRowWriter(ctx, out, f, v)
		w.rows(rows)
		return w.close()
	})
}

type lineKey struct {
	side Side
	line int
}

type rowWriter struct {
	ctx     context.Context
	out     io.Writer
	file    *DiffFile
	view    DiffView
	digits  int // of the line numbers, also in the class of the body
	threads map[lineKey][]*Thread
	moved   map[diff.Kind][]Moved

	chunk []byte // the open chunk
	n     int    // visual rows in it
	err   error
}

func newRowWriter(ctx context.Context, out io.Writer, f *DiffFile, v DiffView) *rowWriter {
	w := &rowWriter{ctx: ctx, out: out, file: f, view: v, digits: digits(f), chunk: make([]byte, 0, 16<<10)}
	for _, m := range f.Moved {
		if w.moved == nil {
			w.moved = map[diff.Kind][]Moved{}
		}
		w.moved[m.Kind] = append(w.moved[m.Kind], m)
	}
	for i := range f.Threads {
		if t := &f.Threads[i]; !t.Outdated && t.To > 0 {
			if w.threads == nil {
				w.threads = map[lineKey][]*Thread{}
			}
			k := lineKey{t.Side, t.To}
			w.threads[k] = append(w.threads[k], t)
		}
	}
	return w
}

func (w *rowWriter) hunks() {
	if w.file.Diff == nil {
		return
	}
	end := 0 // last new line that was rendered
	for i := range w.file.Diff.Hunks {
		h := &w.file.Diff.Hunks[i]
		w.gap(end+1, h.NewStart-1, h, i == 0)
		if w.done(h) {
			w.folded(h)
		} else {
			w.rows(h.Rows)
		}
		end = h.NewStart + h.NewLines - 1
	}
	if end > 0 && end < w.file.Diff.NewLines {
		w.gap(end+1, w.file.Diff.NewLines, nil, false)
	}
	w.flush()
	w.orphans()
}

// gap renders the bar between two hunks: their section, and buttons that show hidden lines. Without
// JavaScript, the file's own page shows everything.
func (w *rowWriter) gap(from, to int, next *diff.Hunk, first bool) {
	w.full()
	hidden := to - from + 1
	if w.file.Diff.NewLines == 0 {
		hidden = 0
	}
	if hidden <= 0 && first && next.Section == "" && len(w.file.Diff.Hunks) == 1 {
		return // the only hunk starts at the beginning of the file
	}
	b := append(w.chunk, `<div class="h`...)
	if hidden <= 0 {
		b = append(b, " joined"...)
	}
	b = append(b, '"')
	if next == nil {
		b = append(b, ` data-t="`...) // other gaps end at the next row
		b = strconv.AppendInt(b, int64(to), 10)
		b = append(b, '"')
	} else if next.Section != "" {
		b = append(b, ` data-h="`...)
		b = appendEscaped(b, next.Section)
		b = append(b, '"')
	}
	if next != nil && next.Key != "" {
		b = append(b, ` data-k="`...)
		b = append(b, HunkName(next.Key)...)
		b = append(b, '"')
	}
	b = append(b, '>')
	switch {
	case hidden <= 0:
	case hidden <= 2*expandStep:
		b = append(b, `<button class="show-all" aria-label="Show hidden lines"></button>`...)
	default:
		if !first {
			b = append(b, `<button class="show-below" aria-label="Show 20 lines below"></button>`...)
		}
		if next != nil {
			b = append(b, `<button class="show-above" aria-label="Show 20 lines above"></button>`...)
		}
	}
	w.chunk = b
	if next != nil && w.view.Links {
		w.tools(next)
	}
	w.chunk = append(w.chunk, "</div>"...)
	if hidden > 0 || next.Section != "" || w.view.Links {
		w.n++ // an empty bar has no height
	}
}

const expandStep = 20

func (w *rowWriter) rows(rows []diff.Row) {
	if w.view.Split {
		w.split(rows)
		return
	}
	for i := range rows {
		r := &rows[i]
		w.full()
		w.cell(r, true, true)
		w.n++
		w.thread(r)
	}
}

// split renders deletions and the additions that replace them side by side, two cells per visual row.
func (w *rowWriter) split(rows []diff.Row) {
	for _, p := range diff.Split(rows) {
		w.pair(rowAt(rows, p.Left), rowAt(rows, p.Right))
	}
}

func rowAt(rows []diff.Row, i int) *diff.Row {
	if i < 0 {
		return nil
	}
	return &rows[i]
}

func (w *rowWriter) pair(left, right *diff.Row) {
	w.full()
	w.half(left, true)
	w.half(right, false)
	w.n++
	if left != nil && left != right {
		w.thread(left)
	}
	if right != nil {
		w.thread(right)
	}
}

func (w *rowWriter) half(r *diff.Row, old bool) {
	if r == nil {
		w.chunk = append(w.chunk, `<div class="r e"></div>`...)
		return
	}
	w.cell(r, old, !old)
}

// cell writes one row, or half of one, with the numbers of the given sides.
func (w *rowWriter) cell(r *diff.Row, old, new bool) {
	b := append(w.chunk, `<div class="r`...)
	switch r.Kind {
	case diff.Add:
		b = append(b, " a"...)
	case diff.Delete:
		b = append(b, " d"...)
	}
	if w.view.Split && old {
		b = append(b, " l"...)
	}
	from := w.movedFrom(r)
	if from != nil {
		b = append(b, " m"...)
	}
	b = append(b, `" data-l="`...)
	if old {
		b = appendNumber(b, r.Old, w.digits)
	}
	if old && new {
		b = append(b, ' ')
	}
	if new {
		b = appendNumber(b, r.New, w.digits)
	}
	b = append(b, `">`...)
	if w.view.Links {
		b = w.link(b, r)
	}
	b = w.text(b, r)
	if r.NoNewline && w.file.Form == DiffText {
		b = append(b, `<u title="The file ends here without a newline"></u>`...)
	}
	if from != nil {
		b = w.label(b, r, from)
	}
	w.chunk = append(b, "</div>"...)
}

// appendNumber right-aligns a line number in its column. The numbers of both sides share an attribute, which
// compresses to half the size of two.
func appendNumber(b []byte, n, digits int) []byte {
	for limit, i := 10, 1; i < digits; limit, i = limit*10, i+1 {
		if n < limit {
			b = append(b, ' ')
		}
	}
	if n == 0 {
		return append(b, ' ')
	}
	return strconv.AppendInt(b, int64(n), 10)
}

// link covers the numbers of a row; without JavaScript, it opens the comment form of a line.
func (w *rowWriter) link(b []byte, r *diff.Row) []byte {
	where := Where(After, r.New, r.New)
	if r.Kind == diff.Delete {
		where = Where(Before, r.Old, r.Old)
	}
	b = append(b, `<a class="ln" id="`...)
	b = append(b, where...)
	b = append(b, `" href="?`...)
	b = appendEscaped(b, w.file.Query)
	b = append(b, `&amp;comment=`...)
	b = append(b, where...)
	b = append(b, `#comment" aria-label="Comment on line `...)
	b = append(b, where[1:]...)
	return append(b, `"></a>`...)
}

// text writes the code of a row: syntax classes on <i>, changed words in <b>, and cut if it is too long.
func (w *rowWriter) text(b []byte, r *diff.Row) []byte {
	text, cut := r.Text, 0
	if len(text) > lineLimit && !w.view.Whole {
		text = texts.CutBytes(text, lineLimit)
		cut = len(r.Text) - len(text)
	}
	b = w.view.Syntax.append(b, text, r.Spans)
	if cut > 0 {
		b = append(b, `<a class="more" href="`...)
		b = appendEscaped(b, w.file.Href()+"&full=1")
		b = append(b, `">show `...)
		b = append(b, Count(cut)...)
		b = append(b, ` more</a>`...)
	}
	return b
}

// full closes the chunk when it has enough rows.
func (w *rowWriter) full() {
	if w.n >= chunkRows {
		w.flush()
	}
}

func (w *rowWriter) flush() {
	if len(w.chunk) == 0 || w.err != nil {
		return
	}
	head := append(make([]byte, 0, 64), `<div class="chunk tens-`...)
	head = strconv.AppendInt(head, int64(w.n/10), 10)
	head = append(head, " ones-"...)
	head = strconv.AppendInt(head, int64(w.n%10), 10)
	head = append(head, `">`...)
	w.write(head)
	w.write(w.chunk)
	w.write([]byte("</div>"))
	w.chunk, w.n = w.chunk[:0], 0
}

func (w *rowWriter) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
	}
}

// thread renders a row's threads, after closing the chunk, whose height stays exact.
func (w *rowWriter) thread(r *diff.Row) {
	w.form(r)
	if len(w.threads) == 0 {
		return
	}
	for _, k := range [2]lineKey{{Before, r.Old}, {After, r.New}} {
		list := w.threads[k]
		if len(list) == 0 || k.line == 0 {
			continue
		}
		w.flush()
		for _, t := range list {
			w.draw(t)
		}
		delete(w.threads, k)
	}
}

// form renders the open comment form below its last line.
func (w *rowWriter) form(r *diff.Row) {
	side, _, to, ok := ParseWhere(w.view.FormAt)
	if w.view.Form == nil || !ok || to == 0 || (side == Before && r.Old != to) || (side == After && r.New != to) {
		return
	}
	w.flush()
	if w.err == nil {
		w.err = w.view.Form.Render(w.ctx, w.out)
	}
	w.view.Form = nil
}

// orphans renders threads whose line is in no hunk, at the end.
func (w *rowWriter) orphans() {
	for i := range w.file.Threads {
		t := &w.file.Threads[i]
		if list := w.threads[lineKey{t.Side, t.To}]; len(list) > 0 && !t.Outdated && t.To > 0 {
			w.draw(t)
		}
	}
}

func (w *rowWriter) draw(t *Thread) {
	if w.err == nil {
		w.err = ThreadBox(t).Render(w.ctx, w.out)
	}
}

func (w *rowWriter) close() error {
	w.flush()
	return w.err
}
