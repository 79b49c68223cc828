package hub

import (
	"testing"

	"github.com/ahphub/ahphub/hub/ahp"
)

func TestRebuildTerminal(t *testing.T) {
	text := func(s string) ahp.Text { return ahp.NewText(s) }
	loose := func(s string) ahp.TerminalContentPart {
		return ahp.TerminalContentPart{Value: &ahp.TerminalUnclassifiedPart{Value: text(s)}}
	}
	claim := ahp.TerminalClaim{Value: &ahp.TerminalClientClaim{ClientID: "a"}}
	old := &ahp.TerminalState{
		Title: "old", Claim: claim, Content: []ahp.TerminalContentPart{loose("lost")},
		Lifecycle: ahp.TerminalLifecycleState{Status: ahp.TerminalLifecycleStatusRunning},
	}
	running := ahp.TerminalLifecycleState{Status: ahp.TerminalLifecycleStatusRunning}
	for name, want := range map[string]*ahp.TerminalState{
		"empty": {Title: "old", Claim: claim, Content: []ahp.TerminalContentPart{}, Lifecycle: running},
		"output": {Title: "new", Cwd: "file:///a", Claim: claim, Content: []ahp.TerminalContentPart{loose("$ ")},
			Lifecycle: running},
		"exited": {Title: "new", Cols: ahp.Ptr(int64(80)), Rows: ahp.Ptr(int64(24)),
			Content: []ahp.TerminalContentPart{loose("bye")},
			Claim:   ahp.TerminalClaim{Value: &ahp.TerminalSessionClaim{Session: "ahp-session:/1"}},
			Lifecycle: ahp.TerminalLifecycleState{Status: ahp.TerminalLifecycleStatusExited,
				ExitCode: ahp.Ptr(int64(2))}},
		"commands": {Title: "sh", Claim: claim, SupportsCommandDetection: ahp.Ptr(true), Lifecycle: running,
			Content: []ahp.TerminalContentPart{
				loose("$ "),
				{Value: &ahp.TerminalCommandPart{CommandID: "1", CommandLine: "ls", Output: text("a\n"), Timestamp: 5,
					IsComplete: true, ExitCode: ahp.Ptr(int64(0))}},
				loose("$ "),
				{Value: &ahp.TerminalCommandPart{CommandID: "2", CommandLine: "make", Output: text("cc\n"),
					Timestamp: 6}},
			}},
	} {
		var got ahp.State = old
		for _, a := range rebuildTerminal(want) {
			got = ahp.Reduce(got, a)
		}
		g, err := ahp.Marshal(got)
		w, err2 := ahp.Marshal(want)
		if err != nil || err2 != nil || string(g) != string(w) {
			t.Errorf("%s: %s, %v, %v\nwant %s", name, g, err, err2, w)
		}
	}
}
