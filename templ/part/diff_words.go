package part

import (
	"strconv"

	"github.com/a-h/templ"
)

func expanded(shut bool) string { return strconv.FormatBool(!shut) }
func yes(b bool) string         { return strconv.FormatBool(b) }
func not(b bool) string         { return strconv.FormatBool(!b) }

// sizes describes the old and new size of a binary file.
func sizes(f *DiffFile) string {
	switch f.Status {
	case DiffAdded:
		return Size(f.NewSize)
	case DiffDeleted:
		return Size(f.OldSize)
	}
	return Size(f.OldSize) + " before, " + Size(f.NewSize) + " after"
}

// unchanged explains why a listed file has no rows.
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

// widths are the classes of row widths in columns; they size the scroll bar below the rows.
var widths = [...]int{40, 60, 80, 100, 120, 140, 160, 200, 240, 300, 400, 600, 1000, 2000, 5000}

const tabColumns = 4

// widthClass returns the smallest class that fits the longest line; "" if every line fits in 40 columns, which half a
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

// columns returns the width of a line in character cells, counting East Asian letters as two.
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

// shutAttrs folds a body so that find-in-page can search and open it.
func shutAttrs(f *DiffFile) templ.Attributes {
	if !f.Shut {
		return nil
	}
	return templ.Attributes{"hidden": "until-found"}
}

// digits returns the columns for a file's line numbers, two to seven.
func digits(f *DiffFile) int {
	if f.Diff == nil {
		return 2
	}
	return min(max(2, len(strconv.Itoa(max(f.Diff.OldLines, f.Diff.NewLines)))), 7)
}

func digitClass(f *DiffFile) string { return "digits-" + strconv.Itoa(digits(f)) }
