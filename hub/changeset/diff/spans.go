package diff

// overlay applies the changed parts to the classes of a line, and merges equal neighbours, because
// every span becomes an element of a page.
func overlay(text string, classes, changed []Span) []Span {
	if len(changed) == 0 {
		return merged(text, classes)
	}
	if len(classes) == 0 {
		return changed
	}
	out := make([]Span, 0, len(classes)+2*len(changed))
	at := 0
	for _, ch := range changed {
		for ; at < len(classes) && classes[at].End <= ch.Start; at++ {
			out = append(out, classes[at])
		}
		out, at = overlayOne(out, classes, at, ch)
		if at < len(classes) && classes[at].Start < ch.End { // extends past the changed part
			classes[at].Start = ch.End
		}
	}
	return merged(text, append(out, classes[at:]...))
}

// overlayOne adds one changed part, split along the classes under it.
func overlayOne(out, classes []Span, at int, ch Span) ([]Span, int) {
	pos := ch.Start
	for ; at < len(classes) && classes[at].Start < ch.End; at++ {
		c := classes[at]
		if c.Start < pos { // starts before the changed part
			out = append(out, Span{Start: c.Start, End: pos, Class: c.Class})
			c.Start = pos
		}
		if c.Start > pos {
			out = append(out, Span{Start: pos, End: c.Start, Changed: true})
		}
		end := min(c.End, ch.End)
		out = append(out, Span{Start: c.Start, End: end, Class: c.Class, Changed: true})
		pos = end
		if c.End > ch.End {
			break
		}
	}
	if pos < ch.End {
		out = append(out, Span{Start: pos, End: ch.End, Changed: true})
	}
	return out, at
}

// merged merges equal neighbours with only spaces between them.
func merged(text string, spans []Span) []Span {
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 {
			last := &out[n-1]
			near := last.End == s.Start || !s.Changed && blank(text[last.End:s.Start])
			if near && last.Class == s.Class && last.Changed == s.Changed {
				last.End = s.End
				continue
			}
		}
		out = append(out, s)
	}
	return out
}
