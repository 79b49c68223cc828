package terminal

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// guard ends a terminal's child processes when there are far too many: a fork bomb. The system's
// limit on processes counts all of a user's, and would affect the hub as well. Ten times a second
// it checks the machine's number of processes, with one system call. Only after a growth does it
// count each terminal's.
type guard struct {
	mu   sync.Mutex
	all  map[*Process]struct{}
	stop chan struct{}
	done chan struct{}
}

var theGuard guard

const (
	guardEvery = 100 * time.Millisecond
	mostBombs  = 20
)

func (g *guard) add(p *Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[*Process]struct{}{}
	}
	g.all[p] = struct{}{}
	if len(g.all) == 1 {
		stop, done := make(chan struct{}), make(chan struct{})
		g.stop, g.done = stop, done
		go func() { defer close(done); g.run(stop) }()
	}
}

// remove removes a terminal; with the last one the guard's goroutine ends.
func (g *guard) remove(p *Process) {
	g.mu.Lock()
	delete(g.all, p)
	var done chan struct{}
	if len(g.all) == 0 && g.stop != nil {
		close(g.stop)
		done, g.stop, g.done = g.done, nil, nil
	}
	g.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (g *guard) run(stop <-chan struct{}) {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	low := processes()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			n := processes()
			if low = min(low, n); n-low < g.growth() {
				continue
			}
			low = n
			for _, p := range g.over() {
				p.defuse()
			}
		}
	}
}

// growth returns how many additional processes trigger a count.
func (g *guard) growth() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	least := DefaultProcesses
	for p := range g.all {
		least = min(least, p.most)
	}
	return least / 4
}

// over lists the terminals with too many processes.
func (g *guard) over() (out []*Process) {
	counts := map[int]int{}
	for _, pid := range pids() {
		counts[sessionOf(pid)]++
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range g.all {
		if counts[p.cmd.Process.Pid] > p.most {
			out = append(out, p)
		}
	}
	return out
}

// processes returns the machine's number of processes, threads included.
func processes() int {
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err != nil {
		return 0
	}
	return int(s.Procs)
}

// defuse kills everything in the terminal except its first process. It stops all of them first, so
// that they cannot start others. If this happens again and again, it kills the session leader too.
func (p *Process) defuse() {
	again := p.bombs >= mostBombs
	p.bombs++
	stopped := map[int]bool{}
	for range 100 {
		fresh := 0
		for _, pid := range p.members() {
			if !stopped[pid] && (again || pid != p.cmd.Process.Pid) {
				stopped[pid] = unix.Kill(pid, unix.SIGSTOP) == nil
				fresh++
			}
		}
		if fresh == 0 {
			break
		}
	}
	for pid := range stopped {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	p.say(fmt.Sprintf("\r\n\x1b[m[more than %d processes in this terminal: they were ended]\r\n", p.most))
}

// members lists the processes of the terminal's session.
func (p *Process) members() (out []int) {
	for _, pid := range pids() {
		if sessionOf(pid) == p.cmd.Process.Pid {
			out = append(out, pid)
		}
	}
	return out
}

func pids() (out []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// sessionOf returns a process's session: the fourth field after its name, which is in parentheses
// and may contain anything. It returns 0 for zombies.
func sessionOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 || fields[0][0] == 'Z' {
		return 0
	}
	n, _ := strconv.Atoi(string(fields[3]))
	return n
}
