package ahp

func rootAgentsChanged(s *RootState, a *RootAgentsChangedAction) *RootState {
	return setDeep(s, func(s *RootState) *[]AgentInfo { return &s.Agents }, a.Agents)
}

func rootActiveSessionsChanged(s *RootState, a *RootActiveSessionsChangedAction) *RootState {
	return setDeep(s, func(s *RootState) **int64 { return &s.ActiveSessions }, &a.ActiveSessions)
}

func rootTerminalsChanged(s *RootState, a *RootTerminalsChangedAction) *RootState {
	return setDeep(s, func(s *RootState) *[]TerminalInfo { return &s.Terminals }, a.Terminals)
}

func rootConfigChanged(s *RootState, a *RootConfigChangedAction) *RootState {
	if s.Config == nil {
		return s
	}
	config := *s.Config
	config.Values = mergedValues(config.Values, a.Config, a.Replace)
	return setDeep(s, func(s *RootState) **RootConfigState { return &s.Config }, &config)
}

// resourceWatchChanged changes nothing: the action is the event.
func resourceWatchChanged(s *ResourceWatchState, _ *ResourceWatchChangedAction) *ResourceWatchState {
	return s
}

func canvasStateChanged(s *CanvasState, a *CanvasStateChangedAction) *CanvasState {
	if *s == a.Canvas {
		return s
	}
	canvas := a.Canvas
	return &canvas
}
