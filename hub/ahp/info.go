package ahp

// MergeRule decides how two neighbouring actions of one type on one channel may merge.
type MergeRule string

// The merge rules.
const (
	MergeNever  MergeRule = "never"  // both must be delivered
	MergeAppend MergeRule = "append" // both append to the same text: one action with both pieces
	MergeLast   MergeRule = "last"   // the second replaces all that the first set: the first is dropped
)

// ActionInfo describes one type of action.
type ActionInfo struct {
	Type         string
	Channel      ChannelKind
	Dispatchable bool      // clients may dispatch it (AHP requirement 37)
	Event        bool      // sent to subscribers even if it does not change the state
	Merge        MergeRule // see Merge
	New          func() Action
	reduce       func(State, Action) State
}

// Info returns the row of an action type.
func Info(actionType string) (ActionInfo, bool) {
	i, ok := infos[actionType]
	return i, ok
}

// Actions returns all rows, in the order of the channels.
func Actions() []ActionInfo { return append([]ActionInfo(nil), actionTable...) }

var infos = func() map[string]ActionInfo {
	m := make(map[string]ActionInfo, len(actionTable))
	for _, i := range actionTable {
		m[i.Type] = i
	}
	return m
}()

type stateOf[S any] interface {
	*S
	State
}

type actionOf[A any] interface {
	*A
	Action
}

// row returns an action's row. Its channel and type follow from the reducer's parameters.
func row[S, A any, PS stateOf[S], PA actionOf[A]](f func(*S, *A) *S, merge MergeRule, flags ...flag) ActionInfo {
	info := ActionInfo{
		Type:    PA(new(A)).ActionType(),
		Channel: PS(new(S)).Channel(),
		Merge:   merge,
		New:     func() Action { return PA(new(A)) },
		reduce: func(s State, a Action) State {
			state, ok := s.(PS)
			action, known := a.(PA)
			if !ok || !known || state == nil || action == nil {
				return s
			}
			next := f((*S)(state), (*A)(action))
			if next == (*S)(state) {
				return s
			}
			return PS(next)
		},
	}
	for _, f := range flags {
		info.Dispatchable = info.Dispatchable || f == client
		info.Event = info.Event || f == event
	}
	return info
}

type flag int

const (
	client flag = iota // clients may dispatch it
	event              // sent to subscribers even if it does not change the state
)
