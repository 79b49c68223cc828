package main

import (
	"bufio"
	"bytes"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/ahphub/ahphub/handlers/rpc"
	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/host/core"
	"github.com/ahphub/ahphub/hub/quota"
)

// memory is the process's memory limit; other limits are derived from it.
type memory struct {
	limit int64  // bytes
	from  string // the source of the limit
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// findMemory reads the limit of the Go runtime (GOMEMLIMIT) and of the control group. Without
// either it is half of the system's memory.
func findMemory() memory {
	if set := debug.SetMemoryLimit(-1); set < math.MaxInt64 {
		return memory{set, "GOMEMLIMIT"}
	}
	if limit := groupLimit("/proc", "/sys/fs/cgroup"); limit > 0 {
		return memory{limit, "control group"}
	}
	if total := systemMemory("/proc/meminfo"); total > 0 {
		return memory{total / 2, "half of the system"}
	}
	return memory{2 * gib, "default"}
}

// heed gives the runtime the limit of the control group, so that it collects garbage before the
// system ends the process. A quarter is left for memory outside of the Go heap: stacks, the
// system's own pages and SQLite, which takes 30 MB to write a large batch during a snapshot.
func (m memory) heed(log *slog.Logger) {
	if m.from == "control group" {
		debug.SetMemoryLimit(m.limit - max(m.limit/4, min(64*mib, m.limit/2)))
	}
	log.Info("memory", "limit", m.limit, "from", m.from)
}

// part divides the limit, within bounds.
func (m memory) part(by, least, most int64) int64 { return min(max(m.limit/by, least), most) }

func (m memory) hub() hub.Limits {
	return hub.Limits{
		WindowBytes:      int(m.part(64, mib, 4*mib)),
		QueueBytes:       int(m.part(32, 4*mib, 16*mib)),
		QueuedBytes:      int(m.part(8, 8*mib, 512*mib)),
		UnjournaledBytes: int(m.part(32, 2*mib, 64*mib)),
	}
}

func (m memory) host() core.Limits {
	return core.Limits{
		TurnBytes: int(m.part(32, 2*mib, 64*mib)),
		ChatBytes: int(m.part(16, 8*mib, 256*mib)),
	}
}

func (m memory) rpc() rpc.Limits {
	return rpc.Limits{
		FrameBytes:  int(m.part(16, 4*mib, 16*mib)),
		AnswerBytes: int(m.part(8, 16*mib, 32*mib)),

		SnapshotBytes: m.host().ChatBytes + m.host().TurnBytes, // a longer chat was stored with more memory
	}
}

// sockets returns the pool of open connections: a page has one for itself and one for
// notifications.
func (m memory) sockets() *quota.Pool {
	return quota.New(quota.Limits{Account: 2048, Guest: 64, Group: 512, Total: m.part(256*kib, 256, 16_384)})
}

// frames returns the pool of bytes of large frames, incoming or outgoing to pages.
func (m memory) frames() *quota.Pool {
	most := m.part(8, 16*mib, 256*mib)
	frame := int64(m.rpc().FrameBytes) + 1
	return quota.New(quota.Limits{Account: max(most/2, frame), Guest: frame, Group: max(most/4, frame), Total: most})
}

// answers returns the pool of bytes of unread snapshots: one of the longest chat for the guests of
// a link, two for an account. Encoding takes as much again.
func (m memory) answers() *quota.Pool {
	chat := int64(m.rpc().SnapshotBytes)
	return quota.New(quota.Limits{Account: 2 * chat, Guest: chat, Group: chat, Total: 2 * chat})
}

// groupLimit returns the smallest memory limit of this process's control group and its parents, of
// version 1 or 2; 0 for none.
func groupLimit(proc, mount string) (limit int64) {
	groups, err := os.ReadFile(filepath.Join(proc, "self/cgroup"))
	if err != nil {
		return 0 // not Linux
	}
	for line := range strings.SplitSeq(string(groups), "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) != 3 {
			continue
		}
		root, file := mount, "memory.max"
		if f[1] != "" {
			root, file = filepath.Join(mount, f[1]), "memory.limit_in_bytes"
		}
		if f[1] != "" && f[1] != "memory" {
			continue
		}
		for dir := filepath.Clean("/" + f[2]); ; dir = filepath.Dir(dir) {
			if n := readLimit(filepath.Join(root, dir, file)); n > 0 && (limit == 0 || n < limit) {
				limit = n
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit
}

// readLimit reads one limit; 0 for none. Version 1 encodes none as a number near the largest.
func readLimit(path string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
	if err != nil || n >= 1<<60 {
		return 0
	}
	return n
}

// systemMemory returns the computer's memory; 0 if unknown.
func systemMemory(path string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if rest, ok := strings.CutPrefix(scan.Text(), "MemTotal:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64) // 0 if invalid
			return kb * kib
		}
	}
	return 0
}
