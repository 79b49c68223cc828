package box

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ahphub/ahphub/hub/sandbox"
	"github.com/ahphub/ahphub/hub/sandbox/disk"
)

const (
	diskTick    = time.Second // interval of free space checks, which cost nothing; shorter in tests
	diskPause   = 20          // measuring a session's directories takes at most one part in this many of the time
	diskLongest = time.Minute // between measurements
	diskGrace   = 16 << 20    // allowance of a session above its quota, to clean up
)

// diskHistory is the state of a session's disk usage. Only one watch at a time uses it. It is stored with the session's
// private files, which programs cannot reach: a restart of the hub gives them no new allowance.
type diskHistory struct {
	Before  map[string]int64 `json:"before"`            // disk usage of directories before the session; -1: not measured
	Ceiling int64            `json:"ceiling,omitempty"` // replaces the quota once a session exceeded it; 0: none

	watched chan struct{} // holds a value while a watch uses it
	walks   atomic.Int64  // number of measurements
}

// diskFile is the name of a session's history in its private files.
const diskFile = "disk.json"

// readHistory reads the history in dir from an earlier run. Without a readable file, it returns an empty one.
func readHistory(dir string, log *slog.Logger) *diskHistory {
	h := &diskHistory{watched: make(chan struct{}, 1)}
	raw, err := os.ReadFile(filepath.Join(dir, diskFile))
	if err == nil {
		err = json.Unmarshal(raw, h)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("what a session's directories took before cannot be read: growth counts from now on", "dir", dir, "err", err)
	}
	if err != nil || h.Before == nil {
		h.Before, h.Ceiling = map[string]int64{}, 0
	}
	return h
}

// keepHistory writes the session's history. It fails on a full disk, and is retried after later changes.
func (w *diskWatch) keepHistory() {
	raw, err := json.Marshal(w.history)
	path := filepath.Join(w.data, diskFile)
	if err == nil {
		err = os.WriteFile(path+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		w.boxes.cfg.Log.Warn("what a session's directories took before is not kept for the next start", "err", err)
	}
}

// diskWatch watches what the programs of a cell write.
type diskWatch struct {
	boxes   *Boxes
	in      cell
	quota   int64
	private []string // directories that count in full
	shared  []string // directories of which only growth counts
	data    string
	home    string // the path of the private home directory for programs
	history *diskHistory
	stop    chan struct{}
	stopped chan struct{}

	warned bool
	paused bool
	used   int64 // of the whole disk, at the last measurement
	last   time.Time
	next   time.Time
	took   time.Duration
	left   int64 // of the quota at the last measurement
}

// watchDisk starts watching a session's disk usage, or returns nil if it has no limits.
func (b *Boxes) watchDisk(in cell, p *sandbox.Policy, dir string) *diskWatch {
	if b.cfg.Limits.Disk == 0 && b.cfg.Spare == 0 {
		return nil
	}
	w := &diskWatch{boxes: b, in: in, quota: b.cfg.Limits.Disk, data: dir, home: b.cfg.Home,
		stop: make(chan struct{}), stopped: make(chan struct{})}
	for _, name := range []string{"home", "tmp", "vartmp", "work"} {
		w.private = append(w.private, filepath.Join(dir, name))
	}
	own := filepath.Dir(b.cfg.Dir) + "/" // worktrees that ahphub created for the session
	for _, path := range slices.Concat(p.Write, p.Git) {
		if strings.HasPrefix(path, own) {
			w.private = append(w.private, path)
		} else {
			w.shared = append(w.shared, path)
		}
	}
	for _, rel := range p.Home {
		w.shared = append(w.shared, filepath.Join(b.cfg.Home, rel))
	}
	w.shared = disk.Outermost(w.shared)
	b.mu.Lock()
	if w.history = b.disks[p.Session]; w.history == nil {
		w.history = readHistory(dir, b.cfg.Log)
		b.disks[p.Session] = w.history
	}
	b.mu.Unlock()
	go w.run()
	return w
}

// close ends the watch, and waits until it has ended.
func (w *diskWatch) close() {
	if w != nil {
		close(w.stop)
		<-w.stopped
	}
}

// run checks the disk until the cell ends.
func (w *diskWatch) run() {
	defer close(w.stopped)
	w.history.watched <- struct{}{}
	defer func() { <-w.history.watched }()
	w.keepBefore()
	tick := time.NewTicker(w.boxes.tick)
	defer tick.Stop()
	for {
		if !w.look(time.Now()) {
			go w.boxes.endIf(w.in.counts().session, func(now cell) bool { return now == w.in })
			return
		}
		select {
		case <-tick.C:
		case <-w.stop:
			return
		}
	}
}

// keepBefore measures directories that are new to this session.
func (w *diskWatch) keepBefore() {
	if w.quota == 0 {
		return
	}
	isNew := false
	for _, dir := range w.shared {
		if _, known := w.history.Before[dir]; known {
			continue
		}
		isNew = true
		use := disk.Measure([]string{dir}, math.MaxInt64)
		w.history.Before[dir] = use.Bytes
		if use.Cut != "" {
			w.history.Before[dir] = -1
			w.boxes.cfg.Log.Warn("what a session writes in a directory is not bounded", "dir", dir, "reason", use.Cut)
		}
	}
	if isNew {
		w.keepHistory()
	}
}

// look pauses the programs while the disk is nearly full, and measures their disk usage if it may have grown much. It
// returns false if they must end.
func (w *diskWatch) look(now time.Time) bool {
	used, free, known := disk.Room(w.data)
	if known && w.boxes.cfg.Spare > 0 {
		w.pause(free)
	}
	grown := used - w.used
	switch {
	case w.quota == 0:
		return true
	case w.last.IsZero(), known && grown >= w.left && now.Sub(w.last) > w.took, now.After(w.next),
		known && grown >= w.left/8 && now.Sub(w.last) > diskPause*w.took:
	default:
		return true
	}
	w.used = used
	growth, cut, largest := w.measure()
	defer w.history.walks.Add(1)
	w.took = time.Since(now)
	w.last = time.Now()
	w.next = w.last.Add(max(diskPause*w.took, min(diskLongest, w.boxes.tick*5)))
	return w.judge(growth, cut, largest)
}

// measure returns how much the programs' writes still occupy.
func (w *diskWatch) measure() (growth int64, cut string, largest []disk.Place) {
	most := w.bound()
	use := disk.Measure(w.private, most)
	growth, cut, largest = use.Bytes, use.Cut, use.Largest
	for _, dir := range w.shared {
		before := w.history.Before[dir]
		if before < 0 || growth > most {
			continue
		}
		use := disk.Measure([]string{dir}, before+most-growth)
		growth += max(use.Bytes-before, 0)
		cut = cmp.Or(cut, use.Cut)
		if use.Bytes > before {
			largest = append(largest, use.Largest...)
		}
	}
	if growth <= most {
		growth += disk.Deleted(w.in.members(), append([]string{w.data}, w.shared...))
	}
	return growth, cut, disk.Larger(largest)
}

// bound returns how much the programs may write.
func (w *diskWatch) bound() int64 { return max(w.quota, w.history.Ceiling) }

// judge warns when little is left, and returns false if the programs exceeded their limit.
func (w *diskWatch) judge(growth int64, cut string, largest []disk.Place) bool {
	n := &w.in.counts().notices
	w.left = max(w.bound()-growth, 0)
	places := w.describe(largest)
	switch {
	case growth > w.bound() || cut != "":
		why := fmt.Sprintf("more than %s of disk", sizeOf(w.bound()))
		if cut != "" {
			why = "disk that cannot be watched: " + cut
		} else if w.history.Ceiling == 0 {
			w.history.Ceiling = growth + diskGrace
			w.keepHistory()
		}
		n.say(fmt.Sprintf("disk quota: this session's programs were ended because they take %s (--sandbox-disk).%s "+
			"Delete files that are no longer needed, or ask the owner of this server to raise the quota", why, places))
		w.boxes.cfg.Log.Warn("the programs of a session were ended: they are above their disk quota", "session",
			w.in.counts().session, "bytes", growth, "quota", w.quota, "cut", cut)
		return false
	case growth <= w.quota && w.history.Ceiling > 0:
		w.history.Ceiling = 0
		w.keepHistory()
	}
	isMuch := growth > w.quota/5*4
	if isMuch && !w.warned {
		n.say(fmt.Sprintf("disk quota: this session's programs take %s of disk, and are ended above %s "+
			"(--sandbox-disk).%s", sizeOf(growth), sizeOf(w.bound()), places))
	}
	w.warned = isMuch
	return true
}

// describe lists the largest entries, by the paths that programs see.
func (w *diskWatch) describe(largest []disk.Place) string {
	var texts []string
	for _, at := range largest {
		path := at.Path
		for _, own := range [][2]string{{"home", w.home}, {"tmp", "/tmp"}, {"vartmp", "/var/tmp"}} {
			if rel, is := strings.CutPrefix(path, filepath.Join(w.data, own[0])+"/"); is {
				path = filepath.Join(own[1], rel)
			}
		}
		texts = append(texts, fmt.Sprintf("%s (%s)", printable(path), sizeOf(at.Bytes)))
	}
	if len(texts) == 0 {
		return ""
	}
	return " Most of it is in " + strings.Join(texts, ", ") + "."
}

// printable returns a path chosen by programs, without control characters and cut to one line.
func printable(path string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\uFFFD' || r >= 0x200b && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(path, "?"))
	if runes := []rune(clean); len(runes) > 120 {
		return string(runes[:60]) + "…" + string(runes[len(runes)-59:])
	}
	return clean
}

// pause stops the programs while the disk has too little space, before the hub's database runs out of it.
func (w *diskWatch) pause(free int64) {
	n, spare := &w.in.counts().notices, w.boxes.cfg.Spare
	switch {
	case free < spare:
		w.in.counts().outside.slept.Store(true)
		w.in.signal(syscall.SIGSTOP) // each time: they may have been resumed, and others started
		if !w.paused {
			n.say(fmt.Sprintf("disk full: this session's programs are paused until %s are free on the server's disk. "+
				"Delete files, or ask the owner of this server to", sizeOf(spare+spare/4)))
			w.boxes.cfg.Log.Warn("the programs of a session are paused: the disk is nearly full", "session",
				w.in.counts().session, "free", free)
		}
		w.paused = true
	case w.paused && free > spare+spare/4:
		w.paused = false
		w.in.signal(syscall.SIGCONT)
		n.say("the server's disk has room again: this session's programs continue")
	}
	if !w.paused {
		w.in.counts().outside.wake() // each time: wrappers stop a moment after their programs
	}
}
