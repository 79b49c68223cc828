package rpc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// TestTranscriptsOfTheRealHost plays testdata/host on a host with a store and a directory of its own, whose URI stands as
// $DIR in the lines, as $RUN does for the newest run of an automation. "disk NAME TEXT" writes a file there behind the
// host's back.
func TestTranscriptsOfTheRealHost(t *testing.T) {
	files, err := filepath.Glob("testdata/host/*.txtar")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("no transcripts")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		for name, script := range sections(string(text)) {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+name, func(t *testing.T) {
				playReal(t, script)
			})
		}
	}
}

func playReal(t *testing.T, script string) {
	s := &stage{realWorld(t), map[string]*peer{}, map[string]string{}}
	script = strings.ReplaceAll(script, "$DIR", "file://"+s.dir)
	for n, line := range strings.Split(script, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "disk "); ok {
			name, text, _ := strings.Cut(rest, " ")
			must(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
			continue
		}
		if err := s.step(strings.ReplaceAll(line, "$RUN", newestRun(s.hub))); err != nil {
			t.Fatalf("line %d: %s\n%v", n+1, line, err)
		}
	}
}

func newestRun(h *hub.Hub) string {
	s, _, _ := h.State(ahp.AutomationsURI)
	if all, ok := s.(*ahp.AutomationState); ok && len(all.Entries) > 0 && len(all.Entries[0].Runs) > 0 {
		return string(all.Entries[0].Runs[0].Resource)
	}
	return "no run"
}
