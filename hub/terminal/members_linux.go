package terminal

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// members lists the processes of the terminal's session.
func (p *Process) members() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && sessionOf(pid) == p.cmd.Process.Pid {
			out = append(out, pid)
		}
	}
	return out
}

// sessionOf reads a process's session: the fourth field after its name, which
// stands in parentheses and may hold anything. Zombies have none any more.
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
