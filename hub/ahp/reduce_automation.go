package ahp

// automationCreateRequested changes nothing: the host answers with automation/set, or refuses.
func automationCreateRequested(s *AutomationState, _ *AutomationCreateRequestedAction) *AutomationState {
	return s
}

// automationUpdateRequested changes nothing: the host answers with automation/set, or refuses.
func automationUpdateRequested(s *AutomationState, _ *AutomationUpdateRequestedAction) *AutomationState {
	return s
}

func automationSet(s *AutomationState, a *AutomationSetAction) *AutomationState {
	same := func(e *AutomationEntry) bool { return e.Resource == a.Automation.Resource }
	list, changed := upserted(s.Entries, same, a.Automation)
	if !changed {
		return s
	}
	return edit(s, func(s *AutomationState) { s.Entries = list })
}

func automationRemoved(s *AutomationState, a *AutomationRemovedAction) *AutomationState {
	i := indexOf(s.Entries, func(e *AutomationEntry) bool { return e.Resource == a.Resource })
	if i < 0 {
		return s
	}
	return edit(s, func(s *AutomationState) { s.Entries = without(s.Entries, i) })
}

func automationRunLifecycleChanged(s *AutomationRunState, a *AutomationRunLifecycleChangedAction) *AutomationRunState {
	return setDeep(s, func(s *AutomationRunState) *AutomationRunLifecycle { return &s.Lifecycle }, a.Lifecycle)
}

func automationRunSessionSet(s *AutomationRunState, a *AutomationRunSessionSetAction) *AutomationRunState {
	sessions, changed := withDirectory(s.Sessions, a.Session)
	if !changed {
		return s
	}
	return edit(s, func(s *AutomationRunState) { s.Sessions = sessions })
}

func automationRunSessionRemoved(s *AutomationRunState, a *AutomationRunSessionRemovedAction) *AutomationRunState {
	sessions, changed := withoutDirectory(s.Sessions, a.Session)
	primary := s.PrimarySession == a.Session && a.Session != "" // may be set before it is listed
	if !changed && !primary {
		return s
	}
	return edit(s, func(s *AutomationRunState) {
		s.Sessions = sessions
		if primary {
			s.PrimarySession = ""
		}
	})
}

func automationRunPrimarySessionChanged(s *AutomationRunState,
	a *AutomationRunPrimarySessionChangedAction) *AutomationRunState {
	return set(s, func(s *AutomationRunState) *URI { return &s.PrimarySession }, a.PrimarySession)
}

// automationRunCancelRequested changes nothing: the host cancels the run and sends
// lifecycleChanged.
func automationRunCancelRequested(s *AutomationRunState, _ *AutomationRunCancelRequestedAction) *AutomationRunState {
	return s
}
