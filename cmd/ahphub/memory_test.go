package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestGroupLimitOfBothVersions(t *testing.T) {
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   int64
	}{
		"version 2": {"0::/app/hub\n",
			map[string]string{"app/hub/memory.max": "max\n", "app/memory.max": "157286400\n"}, 150 * mib},
		"version 2, a container": {"0::/\n", map[string]string{"memory.max": "1048576\n"}, mib},
		"version 1": {"4:memory:/app\n3:cpu:/app\n",
			map[string]string{"memory/app/memory.limit_in_bytes": "2097152\n",
				"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 2 * mib},
		"version 1 seen from within a container": {"4:memory:/docker/abc\n",
			map[string]string{"memory/memory.limit_in_bytes": "3145728\n"}, 3 * mib},
		"none": {"0::/app\n", map[string]string{"app/memory.max": "max\n"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.files["proc/self/cgroup"] = c.groups
			for path, content := range c.files {
				path = filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got := groupLimit(filepath.Join(dir, "proc"), dir); got != c.want {
				t.Errorf("the limit is %d, want %d", got, c.want)
			}
		})
	}
}

// TestMemoryPartsFitTogether checks what must hold at every size: a connection may lag as far as
// the journal, and all parts together stay below the limit.
func TestMemoryPartsFitTogether(t *testing.T) {
	for _, limit := range []int64{64 * mib, 150 * mib, 512 * mib, 4 * gib, 1 << 40} {
		m := memory{limit: limit}
		h := m.hub()
		if h.UnjournaledBytes > h.QueuedBytes || h.QueueBytes > h.QueuedBytes {
			t.Errorf("with %d: %+v", limit, h)
		}
		if m.rpc().FrameBytes > m.rpc().AnswerBytes {
			t.Errorf("with %d an answer may be smaller than a frame: %+v", limit, m.rpc())
		}
	}
}
