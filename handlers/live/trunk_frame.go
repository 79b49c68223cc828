package live

import (
	"encoding/binary"
	"errors"
)

// trunkFrame is a frame of a room as it is sent to a follower: the numbers of the room and of the frame
// as varints, a byte that is 1 if the frame replaces the whole room and 0 otherwise, and the frame.
type trunkFrame struct {
	room  uint64
	frame frame
}

var errTrunkFrame = errors.New("a frame of another node can't be read")

func (f trunkFrame) encode() []byte {
	b := make([]byte, 0, 2*binary.MaxVarintLen64+1+len(f.frame.bytes))
	b = binary.AppendUvarint(b, f.room)
	b = binary.AppendUvarint(b, uint64(f.frame.n))
	whole := byte(0)
	if f.frame.whole {
		whole = 1
	}
	return append(append(b, whole), f.frame.bytes...)
}

func decodeTrunkFrame(b []byte) (f trunkFrame, err error) {
	room, at := binary.Uvarint(b)
	if at <= 0 {
		return f, errTrunkFrame
	}
	b = b[at:]
	n, at := binary.Uvarint(b)
	if at <= 0 || int64(n) < 0 || len(b) == at || b[at] > 1 {
		return f, errTrunkFrame
	}
	return trunkFrame{room, frame{b[at+1:], int64(n), b[at] == 1}}, nil
}
