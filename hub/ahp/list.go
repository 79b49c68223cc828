package ahp

import "iter"

// List is an immutable list: With and Replaced return a new list that shares all but a few short
// slices with the old one, whatever its length. The newest items are in a separate slice; older
// ones are in the leaves of a tree.
type List[T any] struct {
	n      int
	tail   []T          // the newest items, listWidth at most; empty only if the list is
	full   *listNode[T] // all older items, in leaves of listWidth each
	height int          // of full; 0 when it is one leaf
}

type listNode[T any] struct {
	kids  []*listNode[T] // nil for a leaf
	items []T
}

const (
	listBits  = 4
	listWidth = 1 << listBits // so short that copying a slice is the cheapest part of a step
	listMask  = listWidth - 1
)

// NewList returns a list of the items. The caller must not modify them any more.
func NewList[T any](items []T) List[T] {
	var l List[T]
	for len(items) > listWidth {
		l.tail, l.n = items[:listWidth:listWidth], l.n+listWidth
		l.close()
		items = items[listWidth:]
	}
	l.tail, l.n = items[:len(items):len(items)], l.n+len(items)
	return l
}

// Len returns the number of items.
func (l List[T]) Len() int { return l.n }

// At returns item i.
func (l List[T]) At(i int) T { return l.chunk(i)[i&listMask] }

// All iterates over the items in order.
func (l List[T]) All() iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		for from := 0; from < l.n; from += listWidth {
			for i, v := range l.chunk(from) {
				if !yield(from+i, v) {
					return
				}
			}
		}
	}
}

// Slice returns the items in a new slice.
func (l List[T]) Slice() []T {
	out := make([]T, 0, l.n)
	for from := 0; from < l.n; from += listWidth {
		out = append(out, l.chunk(from)...)
	}
	return out
}

// chunk returns the slice that holds item i.
func (l List[T]) chunk(i int) []T {
	if i >= l.n-len(l.tail) {
		return l.tail
	}
	node := l.full
	for h := l.height; h > 0; h-- {
		node = node.kids[i>>(h*listBits)&listMask]
	}
	return node.items
}

// With returns the list with one more item.
func (l List[T]) With(v T) List[T] {
	if len(l.tail) == listWidth {
		l.close()
	}
	l.tail, l.n = with(l.tail, v), l.n+1
	return l
}

// Replaced returns the list with v as item i.
func (l List[T]) Replaced(i int, v T) List[T] {
	if i >= l.n-len(l.tail) {
		l.tail = replaced(l.tail, i&listMask, v)
	} else {
		l.full = l.full.replaced(i, l.height, v)
	}
	return l
}

func (node *listNode[T]) replaced(i, height int, v T) *listNode[T] {
	if height == 0 {
		return &listNode[T]{items: replaced(node.items, i&listMask, v)}
	}
	at := i >> (height * listBits) & listMask
	return &listNode[T]{kids: replaced(node.kids, at, node.kids[at].replaced(i, height-1, v))}
}

// close moves the full tail into the tree as a leaf, and adds a level to a tree without room.
func (l *List[T]) close() {
	leaf := &listNode[T]{items: l.tail}
	i := l.n - listWidth // the first item of the leaf
	switch {
	case l.full == nil:
		l.full = leaf
	case i == 1<<((l.height+1)*listBits):
		l.full = &listNode[T]{kids: []*listNode[T]{l.full, leaf.under(l.height)}}
		l.height++
	default:
		l.full = l.full.with(i, l.height, leaf)
	}
	l.tail = nil
}

func (node *listNode[T]) with(i, height int, leaf *listNode[T]) *listNode[T] {
	at := i >> (height * listBits) & listMask
	if at == len(node.kids) {
		return &listNode[T]{kids: with(node.kids, leaf.under(height-1))}
	}
	return &listNode[T]{kids: replaced(node.kids, at, node.kids[at].with(i, height-1, leaf))}
}

// under returns a branch of the given height whose only leaf is node.
func (node *listNode[T]) under(height int) *listNode[T] {
	for range height {
		node = &listNode[T]{kids: []*listNode[T]{node}}
	}
	return node
}
