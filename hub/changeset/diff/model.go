package diff

// File is the difference of two versions.
type File struct {
	Hunks     []Hunk
	Additions int // changed lines of the new side
	Deletions int // changed lines of the old side
	OldLines  int // all lines of a side
	NewLines  int
	// A side that does not end in a newline. An empty side has no line that could lack one.
	OldNoNewline bool
	NewNoNewline bool
	NotUTF8      bool // some bytes are not UTF-8; Text holds them as they are
	Binary       bool // a side is not text: there are no hunks
	// TooBig is set for files that should start folded: over 20 000 changed lines, or 2 MB on a
	// side. Rows are there, without
	// words and classes, up to 10 MB a side.
	TooBig bool
	// Generated is set for files that say so themselves.
	Generated bool
	// Sizes of the sides of a picture.
	OldPixels, NewPixels Pixels

	texts [2]string // both sides, which the rows keep alive anyway
	held  int       // bytes of them
}

// Hunk is a run of changed lines with the context around it. Starts are 1-based; 0 for a side without lines.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
	Section            string // the line the hunk stands under, as a function's head; "" when none is seen
	Rows               []Row
	// Key names what the hunk changes, with the lines next to it, wherever it stands: 32 hex digits. Marks are
	// kept by it.
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

// Row is one line. A context row has the text of the new side, which differs from the old one in spaces only, and only
// when spaces are ignored; where an added empty line is not shown as added, it has no old number.
type Row struct {
	Kind      Kind
	Old, New  int    // 1-based line numbers; 0 on the side that lacks the line
	Text      string // without the newline, with the carriage return if there is one
	Spans     []Span // sorted, disjoint; what lies between is plain
	NoNewline bool   // the file ends here without a newline
	Pair      int    // index in Hunk.Rows of the other version of this line, -1 when it has none
}

// Span is a part of a row's text, in bytes.
type Span struct {
	Start, End int
	// Class is the syntax: k keyword, s string, c comment, n number, t type or built-in, f function name,
	// p preprocessor, attribute or tag; "" for anything else.
	Class   string
	Changed bool // these words differ from the other version of the line
}

// Options of a comparison. The zero value compares every byte and colours nothing.
type Options struct {
	Path    string // the name decides the language; "" leaves out syntax classes
	Space   Space  // which changes of white space count
	NoWords bool   // leave out words
}

// Limits of what is worked out.
const (
	foldLines   = 20_000   // changed lines of a file that is better folded
	foldBytes   = 2 << 20  // bytes of a side, likewise
	mostBytes   = 10 << 20 // bytes of a side that is compared at all
	wordBytes   = 1_000    // longest line whose words are compared
	classBytes  = 512 << 10
	classLines  = 20_000
	contextRows = 3
)
