package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ahphub/ahphub/hub"
)

// After a failed sync nothing more is applied: the system reports a page that it could not write
// only once.
func TestApplyNothingAfterFailedSync(t *testing.T) {
	s := open(t, Config{Replays: true})
	var batches [2][]byte
	for i := range batches {
		var err error
		batches[i], err = Encode(sampleBatches()[i], 0)
		must(t, err)
	}
	must(t, s.ApplyMarked(1, nil, batches[0]))
	must(t, s.Sync())
	log := filepath.Join(s.cfg.Dir, databaseName+"-wal")
	must(t, os.Rename(log, log+".away"))
	if s.Sync() == nil {
		t.Fatal("a log that is not there was synced")
	}
	must(t, os.Rename(log+".away", log))
	if s.Sync() == nil {
		t.Error("what was not written to the disk once is taken for written")
	}
	if s.ApplyMarked(2, nil, batches[1]) == nil {
		t.Error("the store goes on after what it had was not written to the disk")
	}
}

// The WAL is checkpointed concurrently with commits, so it starts from the beginning instead of
// growing.
func TestCheckpointDuringCommits(t *testing.T) {
	s := open(t, Config{Replays: true})
	size := func() int64 {
		info, err := os.Stat(filepath.Join(s.cfg.Dir, databaseName+"-wal"))
		must(t, err)
		return info.Size()
	}
	var first int64
	for round := range int64(5) {
		for i := range int64(20) {
			batch, err := Encode(hub.Batch{Upto: 1, Seq: 1, Writes: []hub.Write{{Record: &hub.Record{Bucket: "notes", Key: fmt.Sprint(i),
				Value: bytes.Repeat([]byte{byte(round)}, 20_000)}}}}, 0)
			must(t, err)
			must(t, s.ApplyMarked(20*round+i+1, nil, batch))
		}
		s.checkpoint(t.Context())
		if round == 0 {
			first = size()
		}
	}
	if last := size(); last > 2*first {
		t.Errorf("the log has grown from %d to %d bytes", first, last)
	}
}
