package ahp

// terminalData appends output to the running command, or else to the trailing unclassified text.
func terminalData(s *TerminalState, a *TerminalDataAction) *TerminalState {
	if a.Data == "" {
		return s
	}
	n := len(s.Content)
	if n > 0 {
		switch v := s.Content[n-1].Value.(type) {
		case *TerminalUnclassifiedPart:
			return s.withPart(n-1, &TerminalUnclassifiedPart{v.Value.Append(a.Data)})
		case *TerminalCommandPart:
			if !v.IsComplete {
				return s.withPart(n-1, edit(v, func(p *TerminalCommandPart) { p.Output = p.Output.Append(a.Data) }))
			}
		}
	}
	part := TerminalContentPart{&TerminalUnclassifiedPart{NewText(a.Data)}}
	return edit(s, func(s *TerminalState) { s.Content = with(s.Content, part) })
}

func (s *TerminalState) withPart(i int, part TerminalContentPartValue) *TerminalState {
	return edit(s, func(s *TerminalState) { s.Content = replaced(s.Content, i, TerminalContentPart{part}) })
}

// terminalInput changes nothing: its effect shows in the output.
func terminalInput(s *TerminalState, _ *TerminalInputAction) *TerminalState { return s }

func terminalResized(s *TerminalState, a *TerminalResizedAction) *TerminalState {
	next := setDeep(s, func(s *TerminalState) **int64 { return &s.Cols }, &a.Cols)
	return setDeep(next, func(s *TerminalState) **int64 { return &s.Rows }, &a.Rows)
}

func terminalClaimed(s *TerminalState, a *TerminalClaimedAction) *TerminalState {
	return setDeep(s, func(s *TerminalState) *TerminalClaim { return &s.Claim }, a.Claim)
}

func terminalTitleChanged(s *TerminalState, a *TerminalTitleChangedAction) *TerminalState {
	return set(s, func(s *TerminalState) *string { return &s.Title }, a.Title)
}

func terminalCwdChanged(s *TerminalState, a *TerminalCwdChangedAction) *TerminalState {
	return set(s, func(s *TerminalState) *URI { return &s.Cwd }, a.Cwd)
}

func terminalExited(s *TerminalState, a *TerminalExitedAction) *TerminalState {
	exited := TerminalLifecycleState{Status: TerminalLifecycleStatusExited, ExitCode: a.ExitCode}
	return setDeep(s, func(s *TerminalState) *TerminalLifecycleState { return &s.Lifecycle }, exited)
}

func terminalCleared(s *TerminalState, _ *TerminalClearedAction) *TerminalState {
	if len(s.Content) == 0 {
		return s
	}
	return edit(s, func(s *TerminalState) { s.Content = []TerminalContentPart{} })
}

func terminalCommandDetectionAvailable(s *TerminalState, _ *TerminalCommandDetectionAvailableAction) *TerminalState {
	return setDeep(s, func(s *TerminalState) **bool { return &s.SupportsCommandDetection }, Ptr(true))
}

// terminalCommandExecuted adds a command; output belongs to it until it finishes.
func terminalCommandExecuted(s *TerminalState, a *TerminalCommandExecutedAction) *TerminalState {
	part := &TerminalCommandPart{CommandID: a.CommandID, CommandLine: a.CommandLine, Timestamp: a.Timestamp}
	return edit(s, func(s *TerminalState) {
		s.Content = with(s.Content, TerminalContentPart{part})
		s.SupportsCommandDetection = Ptr(true)
	})
}

func terminalCommandFinished(s *TerminalState, a *TerminalCommandFinishedAction) *TerminalState {
	i := indexOf(s.Content, func(p *TerminalContentPart) bool {
		v, ok := p.Value.(*TerminalCommandPart)
		return ok && v.CommandID == a.CommandID && !v.IsComplete
	})
	if i < 0 {
		return s
	}
	part := edit(s.Content[i].Value.(*TerminalCommandPart), func(p *TerminalCommandPart) {
		p.IsComplete, p.ExitCode, p.DurationMs = true, a.ExitCode, a.DurationMs
	})
	return s.withPart(i, part)
}
