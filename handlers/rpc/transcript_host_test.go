package rpc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ahphub/ahphub/hub"
	"github.com/ahphub/ahphub/hub/ahp"
)

// TestTranscriptsOfTheRealHost plays testdata/host on a host with a store and a directory of its
// own. In the lines $DIR is the directory's URI, $RUN the newest run of an automation and $ID:name
// a customization. "disk NAME TEXT" writes a file there outside of the host.
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
		line = customID.ReplaceAllStringFunc(strings.ReplaceAll(line, "$RUN", newestRun(s.hub)),
			func(name string) string {
				return idOfCustomization(s.hub, name[len("$ID:"):])
			})
		if err := s.step(line); err != nil {
			t.Fatalf("line %d: %s\n%v", n+1, line, err)
		}
	}
}

// customID is the id of an entry by its name, in the session ahp-session:/1.
var customID = regexp.MustCompile(`\$ID:[\w.]+`)

func idOfCustomization(h *hub.Hub, name string) string {
	state, _, _ := h.State("ahp-session:/1")
	raw, _ := json.Marshal(state)
	var s struct {
		Customizations []struct {
			ID, Name string
			Children []struct{ ID, Name string }
		}
	}
	_ = json.Unmarshal(raw, &s)
	for _, c := range s.Customizations {
		if c.Name == name {
			return c.ID
		}
		for _, x := range c.Children {
			if x.Name == name {
				return x.ID
			}
		}
	}
	return "no " + name
}

func newestRun(h *hub.Hub) string {
	all, ok := hub.StateOf[*ahp.AutomationState](h, ahp.AutomationsURI)
	if ok && len(all.Entries) > 0 && len(all.Entries[0].Runs) > 0 {
		return string(all.Entries[0].Runs[0].Resource)
	}
	return "no run"
}
