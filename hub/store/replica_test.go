package store

import (
	"os"
	"path/filepath"
	"testing"
)

// The system tells only once of a page that it could not write, so nothing more may be applied after that.
func TestNothingIsAppliedAfterASyncFailed(t *testing.T) {
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
