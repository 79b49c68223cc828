package ahp

import (
	"hash/maphash"
	"iter"
)

// Parts are the response parts of a running turn, in order of arrival. They are immutable: a
// reducer makes a new list that shares the unchanged parts, and finds a part by id with an index.
// So a delta costs the same in a turn of a thousand parts as in one of ten.
type Parts struct {
	list    List[ResponsePart]
	streams *idIndex // Markdown and reasoning by id; the later part of two with one id
	calls   *idIndex // tool calls by id; the earlier call of two with one id
	waiting int      // number of parts that wait for a person
}

// NewParts returns the parts as a list. The caller must not modify them any more.
func NewParts(parts ...ResponsePart) Parts {
	p := Parts{list: NewList(parts)}
	for i := range parts {
		p.indexPart(&parts[i], i)
	}
	return p
}

// Len returns the number of parts.
func (p Parts) Len() int { return p.list.Len() }

// At returns part i.
func (p Parts) At(i int) ResponsePart { return p.list.At(i) }

// All iterates over the parts in order.
func (p Parts) All() iter.Seq2[int, ResponsePart] { return p.list.All() }

// Slice returns the parts in a new slice.
func (p Parts) Slice() []ResponsePart { return p.list.Slice() }

// Call returns the tool call with the id, or one with a nil Value.
func (p Parts) Call(id string) ToolCallState {
	if i := p.calls.find(id); i >= 0 {
		return p.At(i).Value.(*ToolCallResponsePart).ToolCall
	}
	return ToolCallState{}
}

// Wait reports whether a part waits for a person.
func (p Parts) Wait() bool { return p.waiting > 0 }

// with returns the parts with part appended.
func (p Parts) with(part ResponsePart) Parts {
	p.indexPart(&part, p.Len())
	p.list = p.list.With(part)
	return p
}

// replaced returns the parts with part as part i; its id must be the same.
func (p Parts) replaced(i int, part ResponsePart) Parts {
	was := p.At(i)
	p.waiting += count(part.waits()) - count(was.waits())
	p.list = p.list.Replaced(i, part)
	return p
}

func (p *Parts) indexPart(part *ResponsePart, i int) {
	p.waiting += count(part.waits())
	if id := part.id(); id != "" {
		p.streams = p.streams.with(id, i)
	}
	if call, ok := part.Value.(*ToolCallResponsePart); ok && call.ToolCall.Base() != nil {
		if id := call.ToolCall.Base().ToolCallID; p.calls.find(id) < 0 {
			p.calls = p.calls.with(id, i)
		}
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// MarshalJSON writes a list, never null.
func (p Parts) MarshalJSON() ([]byte, error) { return Marshal(p) }

// UnmarshalJSON reads a list.
func (p *Parts) UnmarshalJSON(b []byte) error { return Unmarshal(b, p) }

// idIndex maps ids to indexes. It is immutable: with returns a new one that shares nearly all
// nodes. It is a tree in which each pair of bits of the id's hash selects a child.
type idIndex struct {
	id   string
	at   int
	kids [4]*idIndex
}

var idIndexSeed = maphash.MakeSeed()

// find returns the index of the id, or -1.
func (p *idIndex) find(id string) int {
	for hash := maphash.String(idIndexSeed, id); p != nil; hash <<= 2 {
		if p.id == id {
			return p.at
		}
		p = p.kids[hash>>62]
	}
	return -1
}

func (p *idIndex) with(id string, at int) *idIndex {
	return p.put(maphash.String(idIndexSeed, id), id, at)
}

func (p *idIndex) put(hash uint64, id string, at int) *idIndex {
	if p == nil {
		return &idIndex{id: id, at: at}
	}
	c := *p
	if c.id == id {
		c.at = at
	} else {
		kid := &c.kids[hash>>62]
		*kid = (*kid).put(hash<<2, id, at)
	}
	return &c
}
