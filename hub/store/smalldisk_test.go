package store

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ahphub/ahphub/e2e/fixture"
)

// Repeated writes make the log grow until a checkpoint: on a small disk, it filled the disk by
// itself.
func TestLogDoesNotFillSmallDisk(t *testing.T) {
	s := open(t, Config{Dir: fixture.SmallDisk(t, 20<<20), ReserveBytes: 1 << 20})
	for i := range 60 {
		must(t, put(s, "b", "k", bytes.Repeat([]byte{byte(i)}, 1<<20)))
	}
}

// The end of the journal is written into the reserve, which is restored once there is room.
func TestReserveTakesEndOfJournal(t *testing.T) {
	disk := fixture.SmallDisk(t, 20<<20)
	cfg := Config{Dir: filepath.Join(disk, "data"), ReserveBytes: 2 << 20, RetryAfter: time.Millisecond,
		RoomEvery: time.Millisecond}
	l := start(t, cfg)
	l.settle()
	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	must(t, err)
	for _, size := range []int{1 << 20, 4 << 10} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	must(t, f.Close())
	must(t, l.apply(chatURI, delta("the end "+string(bytes.Repeat([]byte("x"), 1<<20)))))
	l.settle() // it is durable nevertheless
	eventually(t, "read-only", func() bool { return l.h.ReadOnly() != nil })
	must(t, os.Remove(filler))
	eventually(t, "back", func() bool { return l.h.ReadOnly() == nil })
	if info, err := os.Stat(filepath.Join(cfg.Dir, reserveName)); err != nil || info.Size() != cfg.ReserveBytes {
		t.Errorf("the reserve is %v, %v", info, err)
	}
	must(t, l.apply(chatURI, delta("again")))
	want := l.state(chatURI)
	l.stop()
	if l = start(t, cfg); l.state(chatURI) != want {
		t.Error("the chat is another one after a restart")
	}
}
