package part

import (
	"strconv"

	"github.com/a-h/templ"
)

func expanded(shut bool) string { return strconv.FormatBool(!shut) }
func yes(b bool) string         { return strconv.FormatBool(b) }
func not(b bool) string         { return strconv.FormatBool(!b) }

// sizes says how large a binary file was and is.
func sizes(f *DiffFile) string {
	switch f.Status {
	case DiffAdded:
		return Size(f.NewSize)
	case DiffDeleted:
		return Size(f.OldSize)
	}
	return Size(f.OldSize) + " before, " + Size(f.NewSize) + " after"
}

// unchanged says why a file in the list has no rows.
func unchanged(f *DiffFile) string {
	switch {
	case f.Status == DiffRenamed:
		return "Renamed without changes."
	case f.OldMode != "":
		return "The content is the same."
	case f.Status == DiffAdded:
		return "The file is empty."
	case f.Status == DiffDeleted:
		return "The file was empty."
	}
	return "Only whitespace changed."
}

// widths are the columns a file's rows may need; the class sizes the scroll bar under them.
var widths = [...]int{40, 60, 80, 100, 120, 140, 160, 200, 240, 300, 400, 600, 1000, 2000, 5000}

const tabColumns = 4

// widthClass is the smallest class the longest line fits in, "" when every line fits in 40 columns, which half a
// window has.
func widthClass(f *DiffFile, _ DiffView) string {
	if f.Diff == nil {
		return ""
	}
	longest := 0
	for i := range f.Diff.Hunks {
		for j := range f.Diff.Hunks[i].Rows {
			if text := f.Diff.Hunks[i].Rows[j].Text; len(text)*tabColumns > longest {
				longest = max(longest, columns(text))
			}
		}
	}
	class := ""
	for i, w := range widths {
		if longest <= w && i == 0 {
			return ""
		}
		class = "w" + strconv.Itoa(w)
		if longest <= w {
			break
		}
	}
	return class
}

// columns is the width of a line in character cells, taking East Asian letters as two.
func columns(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case r == '\t':
			n += tabColumns - n%tabColumns
		case r >= 0x1100 && (r <= 0x115F || r >= 0x2E80 && r <= 0xFF60 || r >= 0x1F300):
			n += 2
		default:
			n++
		}
	}
	return n
}

// shutAttrs folds a body so that find-in-page still looks inside and opens it.
func shutAttrs(f *DiffFile) templ.Attributes {
	if !f.Shut {
		return nil
	}
	return templ.Attributes{"hidden": "until-found"}
}

// digits are the columns a line number takes in a file, two to seven.
func digits(f *DiffFile) int {
	if f.Diff == nil {
		return 2
	}
	return min(max(2, len(strconv.Itoa(max(f.Diff.OldLines, f.Diff.NewLines)))), 7)
}

func digitClass(f *DiffFile) string { return "digits-" + strconv.Itoa(digits(f)) }
