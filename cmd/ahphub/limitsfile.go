package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/ahphub/ahphub/hub/agent/acp"
)

// limitsEntry is [limits] of the configuration file: the limits of each agent program with its
// child processes.
type limitsEntry struct {
	Memory    string  `toml:"memory"`    // bytes, or with K, M or G
	CPUs      float64 `toml:"cpus"`      // in CPUs
	Processes int     `toml:"processes"` // and threads
	Idle      string  `toml:"idle"`      // idle time until the program is stopped
	Start     string  `toml:"start"`     // timeout for its initialization
	Silent    string  `toml:"silent"`    // time without an answer until the chat reports it
}

// readLimits reads the table.
func readLimits(path string) (acp.Limits, error) {
	var file struct {
		Limits limitsEntry `toml:"limits"`
	}
	meta, err := toml.DecodeFile(path, &file)
	if err != nil {
		return acp.Limits{}, err
	}
	for _, key := range meta.Undecoded() {
		if len(key) == 2 && key[0] == "limits" {
			return acp.Limits{}, fmt.Errorf("[limits] has the key %q: use memory, cpus, processes, idle, start and silent",
				key[1])
		}
	}
	return file.Limits.limits()
}

func (e limitsEntry) limits() (l acp.Limits, err error) {
	if l.Memory, err = size(e.Memory); err != nil {
		return l, fmt.Errorf("[limits] memory: %w", err)
	}
	if l.CPUs, l.Processes = e.CPUs, e.Processes; e.CPUs < 0 || e.Processes < 0 {
		return l, fmt.Errorf("[limits] cpus and processes cannot be negative")
	}
	for _, d := range []struct {
		key, text string
		to        *time.Duration
	}{{"idle", e.Idle, &l.Idle}, {"start", e.Start, &l.Start}, {"silent", e.Silent, &l.Silent}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = time.ParseDuration(d.text); err != nil || *d.to < time.Second {
			return l, fmt.Errorf("[limits] %s is %q: use a time of a second or more, as in 10m", d.key, d.text)
		}
	}
	return l, nil
}

// size parses a number of bytes, optionally with a suffix K, M or G for multiples of 1024.
func size(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	unit := int64(1)
	number := strings.TrimSuffix(strings.ToUpper(text), "B")
	if i := strings.IndexAny("KMG", number[max(0, len(number)-1):]); i >= 0 && number != "" {
		unit, number = 1<<(10*(i+1)), number[:len(number)-1]
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 1 || n > 1<<50/unit {
		return 0, fmt.Errorf("%q is not a size. Use one such as 2G", text)
	}
	return n * unit, nil
}
