package cluster

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"
)

// checkedLogs stores a node's log on disk and adds a checksum to each entry. The checksum stays on
// this node. It also detects a flipped bit in the newest entry, whose hash no later entry contains
// yet. Entries written by older releases have no checksum.
type checkedLogs struct{ *boltdb.BoltStore }

const sumBytes = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumOf returns the checksum of the fields of an entry that raft and this package read.
func sumOf(l *raft.Log) uint32 {
	var head [17]byte
	binary.BigEndian.PutUint64(head[:], l.Index)
	binary.BigEndian.PutUint64(head[8:], l.Term)
	head[16] = byte(l.Type)
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, l.Data)
}

// StoreLog implements raft.LogStore.
func (c checkedLogs) StoreLog(l *raft.Log) error { return c.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (c checkedLogs) StoreLogs(logs []*raft.Log) error {
	kept := make([]raft.Log, len(logs))
	list := make([]*raft.Log, len(logs))
	for i, l := range logs {
		kept[i] = *l // raft keeps using the original
		kept[i].Extensions = binary.BigEndian.AppendUint32(nil, sumOf(l))
		list[i] = &kept[i]
	}
	return c.BoltStore.StoreLogs(list)
}

// GetLog implements raft.LogStore.
func (c checkedLogs) GetLog(index uint64, l *raft.Log) error {
	if err := c.BoltStore.GetLog(index, l); err != nil {
		return err
	}
	sum := l.Extensions
	l.Extensions = nil
	if len(sum) > 0 && (len(sum) != sumBytes || binary.BigEndian.Uint32(sum) != sumOf(l)) {
		return fmt.Errorf("%w (entry %d has a wrong checksum)", ErrDamaged, index)
	}
	return nil
}
