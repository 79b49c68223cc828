package ahp

import (
	"hash/maphash"
	"iter"
)

// Parts are the response parts of a running turn, in the order they came. They never change: a reducer makes
// another list that shares with this one what is the same, and finds the part that an action names without looking
// through the others. So a delta costs the same in a turn of a thousand parts as in one of ten.
type Parts struct {
	list    List[ResponsePart]
	streams *places // Markdown and reasoning by id; of two with one id the later one is meant
	calls   *places // tool calls by id; of two with one id the earlier one is meant
	waiting int     // how many hold the turn up until a person acts
}

// NewParts returns the parts as a list. They must not be written to any more.
func NewParts(parts ...ResponsePart) Parts {
	p := Parts{list: NewList(parts)}
	for i := range parts {
		p.note(&parts[i], i)
	}
	return p
}

// Len counts the parts.
func (p Parts) Len() int { return p.list.Len() }

// At returns part i.
func (p Parts) At(i int) ResponsePart { return p.list.At(i) }

// All goes through the parts in order.
func (p Parts) All() iter.Seq2[int, ResponsePart] { return p.list.All() }

// Slice returns the parts as a slice that is the caller's own.
func (p Parts) Slice() []ResponsePart { return p.list.Slice() }

// Call returns the tool call with the id; its Value is nil when there is none.
func (p Parts) Call(id string) ToolCallState {
	if i := p.calls.find(id); i >= 0 {
		return p.At(i).Value.(*ToolCallResponsePart).ToolCall
	}
	return ToolCallState{}
}

// Wait reports whether a part holds the turn up until a person acts.
func (p Parts) Wait() bool { return p.waiting > 0 }

// with returns the parts and one more.
func (p Parts) with(part ResponsePart) Parts {
	p.note(&part, p.Len())
	p.list = p.list.With(part)
	return p
}

// replaced returns the parts with another part i, which has the id of the one before.
func (p Parts) replaced(i int, part ResponsePart) Parts {
	was := p.At(i)
	p.waiting += count(part.waits()) - count(was.waits())
	p.list = p.list.Replaced(i, part)
	return p
}

func (p *Parts) note(part *ResponsePart, i int) {
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

// places finds by id where something is. Adding to it returns another one that shares nearly all with it: a tree
// in which each next pair of bits of the id's hash says where to go on.
type places struct {
	id   string
	at   int
	kids [4]*places
}

var placesSeed = maphash.MakeSeed()

// find returns the place of the id, -1 without one.
func (p *places) find(id string) int {
	for hash := maphash.String(placesSeed, id); p != nil; hash <<= 2 {
		if p.id == id {
			return p.at
		}
		p = p.kids[hash>>62]
	}
	return -1
}

func (p *places) with(id string, at int) *places {
	return p.put(maphash.String(placesSeed, id), id, at)
}

func (p *places) put(hash uint64, id string, at int) *places {
	if p == nil {
		return &places{id: id, at: at}
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
