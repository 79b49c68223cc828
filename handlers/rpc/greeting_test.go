package rpc

import (
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
)

// AHP requirement 14.
func TestDefaultDirectory(t *testing.T) {
	for dir, want := range map[string]bool{"file:///srv/work": true, "": false} {
		w := newWorld(t, Config{DefaultDirectory: dir}, hub.Config{})
		got := w.dial("owner").initialize("a")
		if told := strings.Contains(got, `"defaultDirectory":"file:///srv/work"`); told != want ||
			strings.Contains(got, "defaultDirectory") != want {
			t.Errorf("with %q: %s", dir, got)
		}
	}
}
