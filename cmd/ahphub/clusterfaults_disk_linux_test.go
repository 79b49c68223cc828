package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ahphub/ahphub/hub/cluster"
	"github.com/ahphub/ahphub/hub/cluster/peers"
)

// diskFaults are faults of one node's disk.
var diskFaults = []fault{
	{"slow disk of the leader", func(w *trial) string { return w.slowDown(w.leader()) }},
	{"slow disk of a follower", func(w *trial) string { return w.slowDown(w.anyFollower()) }},
	{"full disk of the leader", func(w *trial) string { return w.fill(w.leader()) }},
	{"full disk of a follower", func(w *trial) string { return w.fill(w.anyFollower()) }},
	{"lost write-ahead log", func(w *trial) string { return w.cutDatabase(w.list[w.rng.IntN(len(w.list))]) }},
	{"lost disk", func(w *trial) string { return w.lose(w.list[w.rng.IntN(len(w.list))]) }},
	{"flipped bytes in the log", func(w *trial) string { return w.flipLog(w.list[w.rng.IntN(len(w.list))]) }},
	{"flipped bytes in the database", func(w *trial) string { return w.flipDatabase(w.list[w.rng.IntN(len(w.list))]) }},
}

// slowState is a State whose disk is slow at times.
type slowState struct {
	cluster.State
	slow *atomic.Bool
}

func (s slowState) Apply(entries []cluster.Entry) error {
	if s.slow.Load() {
		time.Sleep(time.Duration(20+rand.IntN(200)) * time.Millisecond)
	}
	return s.State.Apply(entries)
}

// Restore implements cluster.State. A node that is killed meanwhile has received a snapshot that its state does not have.
func (s slowState) Restore(r io.Reader) error {
	if s.slow.Load() {
		time.Sleep(time.Second)
	}
	return s.State.Restore(r)
}

// slowDown makes a node's disk slow until heal.
func (w *trial) slowDown(n *trialNode) string {
	if n.slow {
		return "the disk of " + n.name + " is already slow"
	}
	n.slow = true
	n.tell("slow on")
	return "slow disk of " + n.name
}

const diskOfANode = 1 << 30 // bytes

// mountDisk gives a node its own disk, which can fill up. It needs root.
func (c *trialNodes) mountDisk(n *trialNode) {
	c.Helper()
	if err := os.Mkdir(n.data, 0o700); err != nil {
		c.Fatal(err)
	}
	if os.Getuid() != 0 || syscall.Mount("ahphub-test", n.data, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", diskOfANode)) != nil {
		return
	}
	n.mounted = true
	c.Cleanup(func() {
		if err := syscall.Unmount(n.data, syscall.MNT_DETACH); err != nil {
			c.Errorf("unmount the disk of %s: %v", n.name, err)
		}
	})
}

func (n *trialNode) filler() string { return filepath.Join(n.data, "filler") }

// fill fills a node's disk until heal.
func (w *trial) fill(n *trialNode) string {
	if !n.mounted {
		return "skipped: no disk to fill"
	}
	f, err := os.Create(n.filler())
	if err != nil {
		w.trialNodes.Fatal(err)
	}
	defer f.Close()
	for size := int64(diskOfANode); size >= 4096; {
		var at int64
		if info, err := f.Stat(); err == nil {
			at = info.Size()
		}
		if syscall.Fallocate(int(f.Fd()), 0, at, size) != nil {
			size /= 2
		}
	}
	return "full disk of " + n.name
}

// cutDatabase kills a node as a power cut does: its WAL loses what SQLite had not synced, from a
// random position.
func (w *trial) cutDatabase(n *trialNode) string {
	n.kill()
	wal, index := filepath.Join(n.data, "ahphub.db-wal"), filepath.Join(n.data, "ahphub.db-shm")
	info, err := os.Stat(wal)
	if err != nil {
		return "kill " + n.name + ", whose WAL is empty"
	}
	synced := w.syncedByCheckpoint(index)
	_ = os.Remove(index)
	if synced >= info.Size() {
		return "kill " + n.name + ", whose WAL is synced"
	}
	at := synced + w.rng.Int64N(info.Size()-synced+1)
	if err := os.Truncate(wal, at); err != nil {
		w.trialNodes.Fatal(err)
	}
	return fmt.Sprintf("kill %s and truncate its WAL from %d to %d bytes, of which %d were synced", n.name, info.Size(), at, synced)
}

// syncedByCheckpoint returns how many bytes of a WAL were synced by a checkpoint, according to the
// WAL index (https://sqlite.org/walformat.html#the_wal_index_file_format). A power cut cannot lose
// these.
func (w *trial) syncedByCheckpoint(index string) int64 {
	w.trialNodes.Helper()
	b, err := os.ReadFile(index)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	const pageSizeAt, attemptedAt = 14, 128
	if err != nil || len(b) < attemptedAt+4 {
		w.trialNodes.Fatalf("%s has %d bytes: %v", index, len(b), err)
	}
	frames := binary.NativeEndian.Uint32(b[attemptedAt:])
	if frames == 0 {
		return 0
	}
	const header, frameHeader = 32, 24
	return header + int64(frames)*int64(frameHeader+binary.NativeEndian.Uint16(b[pageSizeAt:]))
}

// lose kills a node and deletes its disk; heal makes it join again.
func (w *trial) lose(n *trialNode) string {
	if o := w.damaged(); o != nil {
		return "the disk of " + o.name + " is already damaged"
	}
	n.kill()
	n.wipe()
	n.damaged = true
	return "lose the disk of " + n.name
}

// damaged returns the node with a damaged disk. A cluster of three survives only one.
func (c *trialNodes) damaged() *trialNode {
	for _, n := range c.list {
		if n.damaged {
			return n
		}
	}
	return nil
}

func (n *trialNode) wipe() {
	old, _ := os.ReadDir(n.data)
	for _, e := range old {
		_ = os.RemoveAll(filepath.Join(n.data, e.Name()))
	}
}

// flipLog kills a node and flips bits of its log. The node may then refuse to start; heal makes it
// join again.
func (w *trial) flipLog(n *trialNode) string {
	if o := w.damaged(); o != nil {
		return "the disk of " + o.name + " is already damaged"
	}
	n.kill()
	return w.flip(n, filepath.Join(n.data, "cluster", "log", "log.db"))
}

// flipDatabase stops a node, which empties the WAL, and flips bits of its database.
func (w *trial) flipDatabase(n *trialNode) string {
	if o := w.damaged(); o != nil {
		return "the disk of " + o.name + " is already damaged"
	}
	n.stop()
	return w.flip(n, filepath.Join(n.data, "ahphub.db"))
}

// flip flips bits in a file of a stopped node.
func (w *trial) flip(n *trialNode, path string) string {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		w.trialNodes.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		w.trialNodes.Fatal(err)
	}
	flips := 1 + w.rng.IntN(50)
	for range flips {
		var b [1]byte
		at := w.rng.Int64N(info.Size())
		_, err1 := f.ReadAt(b[:], at)
		b[0] ^= 1 << w.rng.IntN(8)
		_, err2 := f.WriteAt(b[:], at)
		err = errors.Join(err, err1, err2)
	}
	if err != nil {
		w.trialNodes.Fatal(err)
	}
	n.damaged = true
	return fmt.Sprintf("end %s, and flip %d bits of its %s (%d KB)", n.name, flips, filepath.Base(path), info.Size()>>10)
}

// mendDisks reverts disk faults before nodes are restarted.
func (c *trialNodes) mendDisks() {
	for _, n := range c.list {
		_ = os.Remove(n.filler())
		if n.slow && !n.isDead() {
			n.tell("slow off")
		}
		n.slow = false
	}
}

// rejoin restarts a node whose disk was damaged. If it refuses to start, it is removed and joins
// again with an empty disk.
func (c *trialNodes) rejoin(n *trialNode) {
	c.Helper()
	n.damaged = false
	if peers.IsNode(n.data) {
		began := time.Now()
		c.await("an end of "+n.name+", or that it answers", func() bool {
			return n.isDead() || n.ask("/readyz") == http.StatusOK && time.Since(began) > 2*time.Second
		})
		if !n.isDead() {
			return // the flipped bits are in unused space
		}
		c.judgeRefusal(n)
	}
	leader := c.leader()
	c.command(leader, "cluster", "remove", n.name, "--data", leader.data)
	n.wipe()
	c.join(n)
	c.start(n)
	status := ""
	defer func() {
		if c.Failed() {
			c.Logf("the cluster's status was\n%s", status)
		}
	}()
	c.await("three nodes that vote", func() bool {
		status = c.command(leader, "cluster", "status", "--data", leader.data)
		return strings.Contains(status, "may_fail=1")
	})
}

// judgeRefusal checks the message of a node that refused to start with a damaged disk.
func (c *trialNodes) judgeRefusal(n *trialNode) {
	said := n.tail()
	if strings.Contains(said, "panic:") || strings.Contains(said, "fatal error:") || strings.Contains(said, "goroutine ") {
		c.Errorf("node %s ends with a panic:\n%s", n.name, said)
	}
	last := lastLine(said)
	if !strings.Contains(last, "delete its data directory, and join again") {
		c.Errorf("node %s does not say what to do: %s", n.name, last)
	}
	c.Logf("node %s does not start: %s", n.name, last)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
