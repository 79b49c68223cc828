package ahp

// MergeRule says what may become of two neighbouring actions of one type.
type MergeRule string

// ActionInfo describes one type of action.
type ActionInfo struct {
	Type         string
	Channel      ChannelKind
	Dispatchable bool      // clients may dispatch it
	Event        bool      // must reach subscribers although it may leave the state as it is
	Since        string    // protocol release that introduced it; "0.4.0" stands for that and everything before
	Merge        MergeRule // see Merge
	New          func() Action
	reduce       func(State, Action) State
}

// Info returns the row of an action type.
func Info(actionType string) (ActionInfo, bool) {
	i, ok := infos[actionType]
	return i, ok
}

var infos = map[string]ActionInfo{}

// Actions returns all rows in the order of the protocol.
func Actions() []ActionInfo { return nil }

// Reduce applies an action to a state of its channel.
func Reduce(s State, a Action) State { return s }

// Merge folds two neighbouring actions of one channel into one with the same effect.
func Merge(a, b Action) (Action, bool) { return nil, false }
