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

// clockFaults change the clock of one node's program by a step, and back when the round is over.
var clockFaults = []fault{
	{"clock of the leader", func(w *trial) string { return w.stepClock(w.leader()) }},
	{"clock of a follower", func(w *trial) string { return w.stepClock(w.anyFollower()) }},
}

var clockSteps = []int{3600, -3600, 5, -5} // seconds

func (w *trial) stepClock(n *trialNode) string {
	if n.clock != 0 {
		return "the clock of " + n.name + " is wrong already"
	}
	if runtime.GOARCH != "amd64" {
		return "clocks are stepped on amd64 only: left out"
	}
	n.clock = clockSteps[w.rng.IntN(len(clockSteps))]
	n.tell(fmt.Sprint("clock ", n.clock))
	w.await("another time at "+n.name, func() bool { // other faults may have ended the process, or may keep it
		off, ok := n.clockError()
		return !ok || (off-time.Duration(n.clock)*time.Second).Abs() < 2*time.Second
	})
	return fmt.Sprintf("clock of %s by %d s", n.name, n.clock)
}

// clockError returns how wrong a node's clock is, by the date of an answer.
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

// mendClocks sets all clocks right.
func (c *trialNodes) mendClocks() {
	for _, n := range c.list {
		if n.clock != 0 && !n.isDead() {
			n.tell("clock 0")
		}
		n.clock = 0
	}
}

var (
	clockBy   atomic.Int64 // seconds that are added to the time of this program
	clockOnce sync.Once
	clockErr  error
)

// stepClock makes this program's clock wrong by so many seconds, and nobody else's. Everything that asks for the time gets it so,
// the runtime and the libraries included; what is left of a timer, which the monotonic clock measures, stays.
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

// replaceClock writes another clock_gettime over the one that the kernel maps into this process. It is written where gettimeofday is,
// which Go does not call; then one jump leads there.
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
		return fmt.Errorf("the kernel maps %+v and %+v", from, to)
	}
	if _, err := memory.WriteAt(code, base+int64(to.Value)); err != nil {
		return err
	}
	jump := binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(int32(int64(to.Value)-int64(from.Value)-5)))
	_, err = memory.WriteAt(jump, base+int64(from.Value))
	return err
}

// readVDSO returns where the kernel maps its library into this process, and the library.
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
