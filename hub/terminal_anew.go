package hub

import "github.com/ahphub/ahphub/hub/ahp"

// rebuildTerminal returns actions that rebuild t from any older state: its screen and scrollback,
// and everything about it that actions can change. Commands that finished while a client was away
// are thereby finished for that client too.
func rebuildTerminal(t *ahp.TerminalState) []ahp.Action {
	out := []ahp.Action{&ahp.TerminalClearedAction{}, &ahp.TerminalTitleChangedAction{Title: t.Title}}
	if t.Cwd != "" {
		out = append(out, &ahp.TerminalCwdChangedAction{Cwd: t.Cwd})
	}
	if t.Cols != nil && t.Rows != nil {
		out = append(out, &ahp.TerminalResizedAction{Cols: *t.Cols, Rows: *t.Rows})
	}
	if t.Claim.Value != nil {
		out = append(out, &ahp.TerminalClaimedAction{Claim: t.Claim})
	}
	if t.SupportsCommandDetection != nil && *t.SupportsCommandDetection {
		out = append(out, &ahp.TerminalCommandDetectionAvailableAction{})
	}
	for _, p := range t.Content {
		out = append(out, rebuildPart(p)...)
	}
	if t.Lifecycle.Status == ahp.TerminalLifecycleStatusExited {
		out = append(out, &ahp.TerminalExitedAction{ExitCode: t.Lifecycle.ExitCode})
	}
	return out
}

// rebuildPart returns the actions that rebuild one part of a terminal's content.
func rebuildPart(p ahp.TerminalContentPart) []ahp.Action {
	switch p := p.Value.(type) {
	case *ahp.TerminalUnclassifiedPart:
		return []ahp.Action{&ahp.TerminalDataAction{Data: p.Value.String()}}
	case *ahp.TerminalCommandPart:
		out := []ahp.Action{
			&ahp.TerminalCommandExecutedAction{CommandID: p.CommandID, CommandLine: p.CommandLine,
				Timestamp: p.Timestamp},
			&ahp.TerminalDataAction{Data: p.Output.String()},
		}
		if p.IsComplete {
			out = append(out, &ahp.TerminalCommandFinishedAction{CommandID: p.CommandID, ExitCode: p.ExitCode,
				DurationMs: p.DurationMs})
		}
		return out
	}
	return nil
}
