package diff

import (
	"hash/maphash"
	"slices"
)

// Block is a run of lines that moved: deleted here and added elsewhere, or the reverse. Lines refer
// to the side they were changed on.
type Block struct {
	Kind     Kind // Add or Delete
	From, To int
	File     int // index of the file with the other end
	Line     int // first line of the other end, on the other side
}

// The minimum of a block: git's 20 letters and digits, and three lines with content, so that ends
// of functions and single statements do not count as moved.
const (
	leastAlnum = 20
	leastLines = 3
	// a line starts a search if it has at most this many matches; more common lines are found
	// through their neighbours
	mostAlike = 8
)

// Moves finds the moved blocks of a changeset, within a file or between files, also with changed
// indentation. Files may be nil. The result has each file's blocks in line order, deletions first.
// The time is linear in the changed lines: each is compared with up to eight candidates.
func Moves(files []*File) [][]Block {
	m := mover{out: make([][]Block, len(files)), seed: maphash.MakeSeed(), where: map[uint64][]int{},
		replaced: map[int]int{}}
	m.collect(files)
	for i := 0; i < len(m.added); {
		i = m.search(i)
	}
	for i := range m.out {
		slices.SortFunc(m.out[i], func(a, b Block) int {
			if a.Kind != b.Kind {
				return int(b.Kind) - int(a.Kind)
			}
			return a.From - b.From
		})
	}
	return m.out
}

// moving is a changed line.
type moving struct {
	file, line int
	run        int // consecutive lines share a run
	hash       uint64
	alnum      int
	taken      bool // already in a block
}

type mover struct {
	out            [][]Block
	seed           maphash.Seed
	added, deleted []moving
	where          map[uint64][]int // indexes in deleted
	replaced       map[int]int      // maps a run of added lines to the run of deleted ones that it replaces
	runs           int
	done           int // added lines before this one are done
	steps          int // lines compared
	squeezed       []byte
}

func (m *mover) collect(files []*File) {
	for i, f := range files {
		if f == nil {
			continue
		}
		for j := range f.Hunks {
			m.hunk(i, f.Hunks[j].Rows)
		}
	}
	for i := range m.deleted {
		if d := &m.deleted[i]; d.alnum > 0 && len(m.where[d.hash]) <= mostAlike {
			m.where[d.hash] = append(m.where[d.hash], i)
		}
	}
}

func (m *mover) hunk(file int, rows []Row) {
	for i := range rows {
		r := &rows[i]
		if r.Kind == Context {
			continue
		}
		if i == 0 || rows[i-1].Kind != r.Kind {
			m.runs++
			if r.Kind == Add && i > 0 && rows[i-1].Kind == Delete {
				m.replaced[m.runs] = m.runs - 1
			}
		}
		line := moving{file: file, line: r.Old + r.New, run: m.runs} // one of them is 0
		line.hash, line.alnum = m.read(r.Text)
		if r.Kind == Delete {
			m.deleted = append(m.deleted, line)
		} else {
			m.added = append(m.added, line)
		}
	}
}

// match says that lines [added, added+lines) equal [deleted, deleted+lines).
type match struct{ added, deleted, lines int }

// search finds the block that contains an added line and returns the next line to search. Lines did
// not move from a run that they replace: re-indented lines look like that.
func (m *mover) search(i int) int {
	var best match
	if at := m.where[m.added[i].hash]; m.added[i].alnum > 0 && len(at) <= mostAlike &&
		m.steps < mostSteps*(len(m.added)+len(m.deleted)) {
		for _, d := range at {
			if m.deleted[d].run == m.replaced[m.added[i].run] {
				continue
			}
			found := m.grow(i, d)
			if found.lines > best.lines || found.lines == best.lines && m.isBetterMatch(found, best) {
				best = found
			}
		}
	}
	if !m.isWorthShowing(best) {
		return i + 1
	}
	m.recordMove(m.trim(best))
	m.done = best.added + best.lines
	return m.done
}

const mostSteps = 64 // compared lines per changed one

// isBetterMatch reports whether a is preferred to b of the same length: lines that are not the
// source of another move come first, then those of the same file.
func (m *mover) isBetterMatch(a, b match) bool {
	x, y := &m.deleted[a.deleted], &m.deleted[b.deleted]
	if x.taken != y.taken {
		return y.taken
	}
	file := m.added[a.added].file
	return x.file == file && y.file != file
}

func (m *mover) grow(i, d int) match {
	first, last := 0, 0
	for m.same(i+last+1, d+last+1, i, d) {
		last++
	}
	for i-first > m.done && m.same(i-first-1, d-first-1, i, d) {
		first++
	}
	m.steps += first + last + 1
	return match{i - first, d - first, first + last + 1}
}

// same reports whether two lines are equal and in the runs of i and d.
func (m *mover) same(x, y, i, d int) bool {
	return x >= 0 && y >= 0 && x < len(m.added) && y < len(m.deleted) && m.added[x].hash == m.deleted[y].hash &&
		m.added[x].run == m.added[i].run && m.deleted[y].run == m.deleted[d].run
}

// isWorthShowing reports whether a block is long enough to be shown as moved.
func (m *mover) isWorthShowing(b match) bool {
	lines, alnum := 0, 0
	for i := b.added; i < b.added+b.lines && (lines < leastLines || alnum < leastAlnum); i++ {
		if m.added[i].alnum > 0 {
			lines++
		}
		alnum += m.added[i].alnum
	}
	return lines >= leastLines && alnum >= leastAlnum
}

// trim removes the empty lines around a block.
func (m *mover) trim(b match) match {
	empty := maphash.Bytes(m.seed, nil)
	for m.added[b.added].hash == empty {
		b.added, b.deleted, b.lines = b.added+1, b.deleted+1, b.lines-1
	}
	for m.added[b.added+b.lines-1].hash == empty {
		b.lines--
	}
	return b
}

// recordMove records both ends of a move; the source of several copies refers to the first.
func (m *mover) recordMove(b match) {
	to, from := m.added[b.added], m.deleted[b.deleted]
	m.out[to.file] = append(m.out[to.file], Block{Kind: Add, From: to.line, To: to.line + b.lines - 1, File: from.file,
		Line: from.line})
	for i := b.deleted; i < b.deleted+b.lines; i++ {
		if m.deleted[i].taken {
			return
		}
	}
	for i := b.deleted; i < b.deleted+b.lines; i++ {
		m.deleted[i].taken = true
	}
	m.out[from.file] = append(m.out[from.file], Block{Kind: Delete, From: from.line, To: from.line + b.lines - 1,
		File: to.file, Line: to.line})
}

// read hashes a line without spaces, and counts its letters and digits.
func (m *mover) read(text string) (hash uint64, alnum int) {
	m.squeezed = m.squeezed[:0]
	for i := range len(text) {
		c := text[i]
		if c == ' ' || c == '\t' || c == '\r' {
			continue
		}
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 {
			alnum++
		}
		m.squeezed = append(m.squeezed, c)
	}
	return maphash.Bytes(m.seed, m.squeezed), alnum
}
