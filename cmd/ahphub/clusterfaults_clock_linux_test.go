package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// clockFaults step one node's clock. mendClocks corrects it after the round.
var clockFaults = []fault{
	{"clock of the leader", func(w *trial) string { return w.stepClock(w.leader()) }},
	{"clock of a follower", func(w *trial) string { return w.stepClock(w.anyFollower()) }},
}

var clockSteps = []int{3600, -3600, 5, -5} // seconds

func (w *trial) stepClock(n *trialNode) string {
	if n.clock != 0 {
		return "the clock of " + n.name + " is already wrong"
	}
	if runtime.GOARCH != "amd64" {
		return "skipped: clocks can be stepped only on amd64"
	}
	n.clock = clockSteps[w.rng.IntN(len(clockSteps))]
	n.tell(fmt.Sprint("clock ", n.clock))
	w.await("another time at "+n.name, func() bool { // other faults may have killed or stopped the process
		off, ok := n.clockError()
		return !ok || (off-time.Duration(n.clock)*time.Second).Abs() < 2*time.Second
	})
	return fmt.Sprintf("clock of %s by %d s", n.name, n.clock)
}

// clockError returns the error of a node's clock, from the date of an HTTP response.
func (n *trialNode) clockError() (off time.Duration, ok bool) {
	client := http.Client{Timeout: time.Second}
	res, err := client.Get("http://" + n.web + "/healthz")
	if err != nil {
		return 0, false
	}
	res.Body.Close()
	at, err := http.ParseTime(res.Header.Get("Date"))
	return time.Until(at), err == nil
}

// mendClocks corrects all clocks.
func (c *trialNodes) mendClocks() {
	for _, n := range c.list {
		if n.clock != 0 && !n.isDead() {
			n.tell("clock 0")
		}
		n.clock = 0
	}
}

var (
	clockBy   atomic.Int64 // seconds added to this program's time
	clockOnce sync.Once
	clockErr  error
)

// stepClock shifts the clock of this process only, by the given seconds. The Go runtime and all
// libraries see the new time; running timers use the monotonic clock and do not change.
func stepClock(seconds string) error {
	by, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return err
	}
	clockOnce.Do(func() { clockErr = replaceClock() })
	if clockErr == nil {
		clockBy.Store(by)
	}
	return clockErr
}

// replaceClock replaces clock_gettime in the vDSO that the kernel maps into this process. The code
// is written over gettimeofday, which Go does not call; clock_gettime then jumps there.
func replaceClock() error {
	if runtime.GOARCH != "amd64" {
		return errors.New("it is written for amd64 only")
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	base, image, err := readVDSO(memory)
	if err != nil {
		return err
	}
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return err
	}
	at := map[string]elf.Symbol{}
	for _, s := range symbols {
		at[s.Name] = s
	}
	from, to := at["__vdso_clock_gettime"], at["__vdso_gettimeofday"]
	code := []byte{
		0xb8, 0xe4, 0, 0, 0, // mov eax, 228 (clock_gettime)
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: CLOCK_REALTIME is 0
		0x75, 0x10, // jne to ret
		0x48, 0xb9, // mov rcx, &clockBy
	}
	code = binary.LittleEndian.AppendUint64(code, uint64(uintptr(unsafe.Pointer(&clockBy))))
	code = append(code,
		0x48, 0x8b, 0x09, // mov rcx, [rcx]
		0x48, 0x01, 0x0e, // add [rsi], rcx: seconds
		0xc3) // ret
	if from.Value == 0 || to.Value == 0 || to.Size < uint64(len(code)) {
		return fmt.Errorf("unexpected vDSO symbols %+v and %+v", from, to)
	}
	if _, err := memory.WriteAt(code, base+int64(to.Value)); err != nil {
		return err
	}
	jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(int32(int64(to.Value)-int64(from.Value)-5)))
	_, err = memory.WriteAt(jump, base+int64(from.Value))
	return err
}

// readVDSO returns the address and the contents of the vDSO.
func readVDSO(memory *os.File) (base int64, image []byte, err error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(string(maps)) {
		var end int64
		if !strings.Contains(line, "[vdso]") {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x ", &base, &end); err != nil {
			return 0, nil, err
		}
		image = make([]byte, end-base)
		_, err := memory.ReadAt(image, base)
		return base, image, err
	}
	return 0, nil, errors.New("the kernel maps no library")
}
