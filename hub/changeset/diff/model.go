package diff

// File is the difference between two versions.
type File struct {
	Hunks     []Hunk
	Additions int // changed lines of the new side
	Deletions int // changed lines of the old side
	OldLines  int // all lines of a side
	NewLines  int
	// A side that does not end in a newline. An empty side has no line that could lack one.
	OldNoNewline bool
	NewNoNewline bool
	NotUTF8      bool // some bytes are not UTF-8; Text holds them unchanged
	Binary       bool // a side is not text: there are no hunks
	// TooBig is set for files that should start folded: over 20 000 changed lines, or 2 MB on a
	// side. Rows exist up to 10 MB a side, without words and classes.
	TooBig bool
	// Generated is set for files that declare it.
	Generated bool
	// Sizes of both sides of an image.
	OldPixels, NewPixels Pixels

	texts [2]string // both sides, which the rows keep in memory anyway
	held  int       // their size in bytes
}

// Hunk is a run of changed lines with the context around it. Starts are 1-based; 0 for a side without lines.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
	Section            string // the line above the hunk that introduces it, such as a function's head; "" for none
	Rows               []Row
	// Key identifies the hunk's changes and adjacent lines, independent of its position: 32 hex
	// digits. Marks refer to it.
	Key string
}

// Kind of a row.
type Kind byte

// The kinds of rows.
const (
	Context Kind = iota
	Add
	Delete
)

// Row is one line. A context row has the text of the new side, which may differ from the old one
// only in ignored spaces. An added empty line that is not shown as added has no old number.
type Row struct {
	Kind      Kind
	Old, New  int    // 1-based line numbers; 0 on the side that lacks the line
	Text      string // without the newline, with the carriage return if there is one
	Spans     []Span // sorted, disjoint; the text between is plain
	NoNewline bool   // the file ends here without a newline
	Pair      int    // index in Hunk.Rows of the other version of this line, -1 for none
}

// Span is a part of a row's text, in bytes.
type Span struct {
	Start, End int
	// Class is the syntax: k keyword, s string, c comment, n number, t type or built-in, f function name,
	// p preprocessor, attribute or tag; "" for anything else.
	Class   string
	Changed bool // these words differ from the other version of the line
}

// Options of a comparison. The zero value compares every byte and adds no syntax.
type Options struct {
	Path    string // the name determines the language; "" omits syntax classes
	Space   Space  // which whitespace changes count
	NoWords bool   // omit words
}

// Limits of a comparison.
const (
	foldLines   = 20_000   // changed lines from which a file starts folded
	foldBytes   = 2 << 20  // bytes of a side, likewise
	mostBytes   = 10 << 20 // largest side that is compared
	wordBytes   = 1_000    // longest line whose words are compared
	classBytes  = 512 << 10
	classLines  = 20_000
	contextRows = 3
)
