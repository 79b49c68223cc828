package replica

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/store"
)

// The last byte of an entry says what of a batch it holds. A batch that is too large for one entry is cut into pieces,
// which follow each other. A leader that loses its term may leave pieces without the last: what the next one appends
// begins anew.
const (
	wholeBatch = iota + 1
	firstPiece
	nextPiece
	lastPiece
)

const mostPiece = cluster.MostBatch - 1

// Append returns how a hub's journal is written in a term of this node.
func Append(term *cluster.Term) store.Append {
	return func(batch []byte) (wait func() error) {
		entries := cutBatch(batch)
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

// cutBatch returns the entries of a batch. The batch is theirs.
func cutBatch(batch []byte) [][]byte {
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

var errPiece = fmt.Errorf("%w: a piece of a batch does not follow the one before", cluster.ErrDiverged)

// pieces joins what was cut.
type pieces struct {
	got []byte // nil: nothing is half here
}

func (p *pieces) isHalf() bool { return p.got != nil }

// add takes the next entry, and returns a batch that is complete now; nil while it is not.
func (p *pieces) add(entry []byte) (batch []byte, err error) {
	if len(entry) == 0 {
		return nil, errors.New("the entry is empty")
	}
	part, kind := entry[:len(entry)-1], entry[len(entry)-1]
	if kind == wholeBatch || kind == firstPiece {
		p.got = nil // of a leader that lost its term
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
	return nil, fmt.Errorf("an entry of kind %d is of another program", kind)
}
