package acp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLimitsMakeScope(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	if findScopes(0) != nil && !strings.HasPrefix(findScopes(0)[0], "/usr") {
		t.Error("a scope was found where there is none")
	}
	put := func(script string) {
		if err := os.WriteFile(filepath.Join(dir, "systemd-run"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put("exit 1\n") // no manager is running
	if got := findScopes(1000); got != nil {
		t.Errorf("a manager that does not work was taken: %v", got)
	}
	put("exit 0\n")
	scope := findScopes(1000)
	want := filepath.Join(dir, "systemd-run") + " --scope --quiet --collect --user"
	if got := strings.Join(scope, " "); got != want {
		t.Errorf("got %q", got)
	}
	got := strings.Join(Limits{Memory: 1 << 30, CPUs: 1.5, Processes: 50}.wrap(scope, []string{"/bin/agent", "--acp"}),
		" ")
	if got != want+" -p MemoryMax=1073741824 -p MemorySwapMax=0 -p CPUQuota=150% -p TasksMax=50 -- /bin/agent --acp" {
		t.Errorf("got %q", got)
	}
	for _, l := range []Limits{{}, {Idle: 1}} {
		if got := l.wrap(scope, []string{"a"}); len(got) != 1 {
			t.Errorf("without limits it runs as %v", got)
		}
	}
	if got := (Limits{Memory: 1}).wrap(nil, []string{"a"}); len(got) != 1 {
		t.Errorf("without scopes it runs as %v", got)
	}
}
