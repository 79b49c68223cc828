package replica

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/store"
)

// The last byte of an entry says which part of a batch it holds. A batch that is too large for one
// entry is split into pieces, in consecutive entries. A leader that loses its term may leave pieces
// without the last one; the next leader's entries then start a new batch.
const (
	wholeBatch = iota + 1
	firstPiece
	nextPiece
	lastPiece
)

const mostPiece = cluster.MostBatch - 1

// Append returns the function that writes a hub's journal in a term of this node.
func Append(term *cluster.Term) store.Append {
	return func(batch []byte) (wait func() error) {
		entries := splitBatch(batch)
		acks := make([]cluster.Ack, len(entries))
		for i, e := range entries {
			acks[i] = term.Append(e)
		}
		return func() error {
			for _, a := range acks {
				if err := a.Wait(); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

// splitBatch returns the entries of a batch. They may share the memory of batch.
func splitBatch(batch []byte) [][]byte {
	if len(batch) <= mostPiece {
		return [][]byte{append(batch, wholeBatch)}
	}
	var entries [][]byte
	for piece := range slices.Chunk(batch, mostPiece) {
		kind := byte(nextPiece)
		if entries == nil {
			kind = firstPiece
		}
		entries = append(entries, slices.Concat(piece, []byte{kind}))
	}
	last := entries[len(entries)-1]
	last[len(last)-1] = lastPiece
	return entries
}

var errPiece = fmt.Errorf("%w: a piece of a batch does not follow the previous piece", cluster.ErrDiverged)

// pieces joins the pieces of a batch.
type pieces struct {
	got []byte // pieces so far; nil: none
}

func (p *pieces) isHalf() bool { return p.got != nil }

// add adds the next entry and returns the batch that it completes, or nil.
func (p *pieces) add(entry []byte) (batch []byte, err error) {
	if len(entry) == 0 {
		return nil, errors.New("the entry is empty")
	}
	part, kind := entry[:len(entry)-1], entry[len(entry)-1]
	if kind == wholeBatch || kind == firstPiece {
		p.got = nil // left by a leader that lost its term
	} else if p.got == nil {
		return nil, errPiece
	}
	switch kind {
	case wholeBatch:
		return part, nil
	case firstPiece, nextPiece:
		p.got = append(p.got, part...)
		return nil, nil
	case lastPiece:
		batch, p.got = append(p.got, part...), nil
		return batch, nil
	}
	return nil, fmt.Errorf("this program does not know entries of kind %d", kind)
}
