package diff

// SplitRow is a row of a side-by-side view: indexes in Hunk.Rows, -1 for an empty half. Context has
// both.
type SplitRow struct{ Left, Right int }

// Split arranges rows side by side: versions of one line next to each other, the others in order
// around them.
func Split(rows []Row) []SplitRow {
	out := make([]SplitRow, 0, len(rows))
	for i := 0; i < len(rows); {
		if rows[i].Kind == Context {
			out = append(out, SplitRow{i, i})
			i++
			continue
		}
		a, end := changedRun(rows, i)
		out = splitRun(out, rows, i, a, end)
		i = end
	}
	return out
}

// changedRun returns the bounds of the changed rows from d on: deletions end at a, additions at
// end.
func changedRun(rows []Row, d int) (a, end int) {
	for a = d; a < len(rows) && rows[a].Kind == Delete; {
		a++
	}
	for end = a; end < len(rows) && rows[end].Kind == Add; {
		end++
	}
	return a, end
}

// splitRun arranges deletions [d,a) and additions [a,end): unpaired rows before each pair share
// rows.
func splitRun(out []SplitRow, rows []Row, d, a, end int) []SplitRow {
	left, right := d, a
	for ; d < a; d++ {
		if p := rows[d].Pair; p >= right && p < end {
			out = beside(out, left, d, right, p)
			out = append(out, SplitRow{d, p})
			left, right = d+1, p+1
		}
	}
	return beside(out, left, a, right, end)
}

func beside(out []SplitRow, left, leftEnd, right, rightEnd int) []SplitRow {
	for ; left < leftEnd || right < rightEnd; left, right = left+1, right+1 {
		row := SplitRow{-1, -1}
		if left < leftEnd {
			row.Left = left
		}
		if right < rightEnd {
			row.Right = right
		}
		out = append(out, row)
	}
	return out
}
